"""The limits of a manifest and of a pod. A larger one is refused with a reason, before a pod worker dies of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from actors.shared.kube.pod import PodSpec
from supervision.documents.model import DocumentLimits

from .errors import FieldError

MAX_BYTES: Final = 10 << 20
DOCUMENT: Final = DocumentLimits(size=MAX_BYTES, depth=64, nodes=2_000_000, lines=False)
"""A pod needs about 12 levels."""
MOST_CONTAINERS: Final = 500
"""Init and ephemeral ones included. The API sets no limit; real pods have far fewer."""
MOST_VOLUMES: Final = 1000


def beyond_limits(spec: PodSpec) -> Iterator[FieldError]:
    """An error for each limit that the pod exceeds."""
    containers = len(spec.initContainers) + len(spec.containers) + len(spec.ephemeralContainers)
    if containers > MOST_CONTAINERS:
        yield FieldError("spec.containers", f"{containers} containers in all, the maximum is {MOST_CONTAINERS}")
    if len(spec.volumes) > MOST_VOLUMES:
        yield FieldError("spec.volumes", f"{len(spec.volumes)} volumes, the maximum is {MOST_VOLUMES}")
