"""What a status says of a resize in place (KEP-1287). Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from actors.shared.cri.model import Container as Runtime
from actors.shared.kube.container import Container, ResourceRequirements
from actors.shared.kube.pod import PodCondition

from .messages import Resize

PENDING: Final = "PodResizePending"
IN_PROGRESS: Final = "PodResizeInProgress"
CONDITIONS: Final = (PENDING, IN_PROGRESS)
"""Those of the node: they go when they do not hold any more."""


def resources_of(
    container: Container, newest: Runtime | None, has: Mapping[str, ResourceRequirements]
) -> ResourceRequirements | None:
    """What the container has: what it was given, but for those of `has`, which are on their way there. None: it has not
    been made."""
    return None if newest is None else has.get(container.name, container.resources)


def conditions(resize: Resize | None) -> list[PodCondition]:
    """Those that hold now."""
    found = []
    if resize is not None and resize.reason:
        found.append(PodCondition(type=PENDING, status="True", reason=resize.reason, message=resize.message))
    if resize is not None and resize.in_progress:
        reason = "Error" if resize.error else ""
        found.append(PodCondition(type=IN_PROGRESS, status="True", reason=reason, message=resize.error))
    return found
