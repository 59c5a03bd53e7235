"""Names in a pod from the API server that would lead out of a directory: those of the pod, its containers and volumes
are names of directories and cgroups. The API server refuses such a pod. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from actors.shared.kube.formats import dns_label, dns_subdomain
from actors.shared.kube.pod import Pod

from .errors import FieldError

_UID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,127}\Z")


def unusable_names(pod: Pod) -> Iterator[FieldError]:
    """An error for each."""
    meta, spec = pod.metadata, pod.spec
    if _UID.match(meta.uid) is None:
        yield FieldError(
            "metadata.uid", f"{meta.uid[:80]!r} is not a UID: letters, digits, '-', '_' and '.', at most 128"
        )
    named = [("metadata.name", dns_subdomain(meta.name)), ("metadata.namespace", dns_label(meta.namespace))]
    for kind in ("initContainers", "containers", "ephemeralContainers", "volumes"):
        named += [(f"spec.{kind}[{at}].name", dns_label(one.name)) for at, one in enumerate(getattr(spec, kind))]
    yield from (FieldError(path, wrong) for path, wrong in named if wrong)
