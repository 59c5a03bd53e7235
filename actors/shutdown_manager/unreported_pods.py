"""The pods that a shutdown has ended, and whose end the API server does not know yet. Pure.

Until it does, no agent may start them again after the boot.
"""

from __future__ import annotations

from collections.abc import Iterable

from actors.status_manager.messages import LivePod, LivePods

from .shutdown_state import ShutdownRecord, seconds


def with_ended(last: ShutdownRecord, pods: Iterable[LivePod]) -> tuple[str, ...]:
    """The UIDs of the record, and of these pods. A static pod is not among them: it starts again."""
    return tuple(sorted({*last.pods, *(pod.uid for pod in pods if pod.reported and not pod.static)}))


def unreported(last: ShutdownRecord, found: LivePods) -> tuple[str, ...]:
    """The UIDs of the record whose end the API server does not know yet, without removed pods, and pods that run again:
    another agent, or this one with another configuration, has started them."""
    current = {pod.uid: pod for pod in found.pods}
    return tuple(
        uid
        for uid in last.pods
        if (not _is_settled(current[uid], seconds(last.end)) if uid in current else not found.complete)
    )


def is_reported(pod: LivePod) -> bool:
    """Whether the API server has the end of the pod. A static pod need not be reported: it starts again after the boot,
    and may be the API server itself."""
    return pod.finished and (pod.status_written or pod.static)


def _is_settled(pod: LivePod, end: float) -> bool:
    """`end`: of the last shutdown, in seconds since 1970; 0.0 when it is not known."""
    return (pod.finished and pod.status_written) or 0.0 < end < pod.started
