"""The conditions of a resize in place (KEP-1287). Pure."""

from __future__ import annotations

from typing import Final

import msgspec

from actors.shared.kube.pod import PodCondition

from ..messages import Resize

PENDING: Final = "PodResizePending"
IN_PROGRESS: Final = "PodResizeInProgress"
CONDITIONS: Final = (PENDING, IN_PROGRESS)
"""The conditions of a resize; one that no longer holds is removed."""


def conditions(resize: Resize | None) -> list[PodCondition]:
    """The conditions that are true."""
    found = []
    if resize is not None and resize.reason:
        found.append(PodCondition(type=PENDING, status="True", reason=resize.reason, message=resize.message))
    if resize is not None and resize.in_progress:
        reason = "Error" if resize.error else ""
        found.append(
            PodCondition(
                type=IN_PROGRESS,
                status="True",
                reason=reason,
                message=resize.error,
                observedGeneration=resize.generation,
            )
        )
    return found


def with_probe_time(now: PodCondition, before: PodCondition | None, when: str | None) -> PodCondition:
    """A resize condition has a lastProbeTime, as in the kubelet: when it was last found with another content."""
    if now.type not in CONDITIONS:
        return now
    if before is not None and before.lastProbeTime:
        kept = msgspec.structs.replace(now, lastProbeTime=before.lastProbeTime)
        if kept == before:
            return kept
    return msgspec.structs.replace(now, lastProbeTime=when)


def has_changed(now: PodCondition, before: PodCondition) -> bool:
    """Whether the condition has changed, so that it gets a new lastTransitionTime: by its status, or by the reason of
    a resize condition."""
    return now.status != before.status or (now.type in CONDITIONS and now.reason != before.reason)
