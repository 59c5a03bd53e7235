"""The reasons to terminate a pod."""

from __future__ import annotations

from actors.pod_workers.pod.phase_transitions import PodWorkerEvent
from actors.pod_workers.pod.state import PodState, replace
from actors.pod_workers.pod.state_values import Retry
from actors.shared.kube.pods import TERMINAL_PHASES
from actors.shared.kube.times import seconds

from .effects import Announce
from .step import Step

DEADLINE_EXCEEDED = "DeadlineExceeded"
OVERDUE = "Pod was active on the node longer than the specified deadline"


def termination(state: PodState, now: float) -> Step | None:
    """The step into termination; None while the pod may run."""
    wanted, state = state.wanted, replace(state, retry=Retry())  # termination has its own backoff
    if wanted.pod is None or wanted.unwanted:
        return Step(state.after(PodWorkerEvent.TERMINATE))
    if wanted.kill is not None:
        return Step(replace(state, reason=(wanted.kill.reason, wanted.kill.message)).after(PodWorkerEvent.TERMINATE))
    if wanted.pod.status.phase in TERMINAL_PHASES:
        return Step(state.after(PodWorkerEvent.TERMINATE))  # the pod is terminal in the API: it is not started again
    deadline = active_deadline(state)
    if deadline is None or now < deadline:
        return None
    announcements = () if state.reason[0] else (Announce("Normal", DEADLINE_EXCEEDED, OVERDUE),)
    return Step(replace(state, reason=(DEADLINE_EXCEEDED, OVERDUE)).after(PodWorkerEvent.TERMINATE), announcements)


def active_deadline(state: PodState) -> float | None:
    """The end of activeDeadlineSeconds, in seconds since 1970; None for no limit. It counts from status.startTime; for
    a static pod, which has none, from its first run on this node, however old its manifest is."""
    limit = state.wanted.pod.spec.activeDeadlineSeconds if state.wanted.pod is not None else None
    if limit is None or state.wanted.pod is None:
        return None
    return (seconds(state.wanted.pod.status.startTime) or _first_seen(state)) + limit


def _first_seen(state: PodState) -> float:
    """The earliest known time on this node, for a pod without startTime."""
    sandboxes = state.runtime.sandboxes if state.runtime is not None else []
    return min([state.started_at, *(sandbox.created_ns / 1e9 for sandbox in sandboxes if sandbox.created_ns)])
