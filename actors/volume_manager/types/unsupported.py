"""Volume sources that this agent rejects, each with its reason."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Final

from actors.shared.kube.volumes import SOURCES, Volume

from .base import Plan, PodContext, RejectedVolume, VolumeType

REMOVED: Final = ("cephfs", "flocker", "glusterfs", "photonPersistentDisk", "quobyte", "rbd", "scaleIO", "storageos")
"""In-tree sources that Kubernetes dropped without a replacement."""
NOT_YET: Final = "is not supported by this agent yet"
"""The reason for every source of the API that has no type and is not in REASONS."""
REASONS: Final[Mapping[str, str]] = {
    **dict.fromkeys(REMOVED, "was removed from Kubernetes: use a CSI driver that serves it"),
    "gitRepo": "is refused (CVE-2024-10220): clone in an init container into an emptyDir instead",
}


def unsupported(known: Collection[str]) -> Iterator[VolumeType]:
    """A type for each source of the API except `known`, which have their own types."""
    for source in SOURCES:
        if source in known:
            continue
        reason = REASONS.get(source, NOT_YET)

        def plan(volume: Volume, context: PodContext, source: str = source, reason: str = reason) -> Plan:
            return RejectedVolume(volume.name, f"volume {volume.name!r}: source {source} {reason}")

        yield VolumeType(source=source, plan=plan)
