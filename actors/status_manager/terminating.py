"""Pods that stay Terminating for longer than they were given, and what each waits for."""

from __future__ import annotations

from typing import Final

import msgspec

from .api_pods import ApiPod
from .known import Known, PodTable
from .phase import TERMINAL
from .times import seconds

STUCK_SECONDS: Final = 60.0
"""After the end of its grace period: deletionTimestamp (API reference, ObjectMeta)."""
SAY_AGAIN_SECONDS: Final = 300.0
PHASES: Final = ("worker", "containers", "sandbox", "volumes", "cgroup", "status", "finalizers", "api")
_BEGUN: Final = {
    "containers": "containers still run",
    "sandbox": "its sandbox is not stopped yet",
    "volumes": "its volumes are not unmounted yet",
    "cgroup": "its cgroup is not removed yet",
}


class Stuck(msgspec.Struct, frozen=True):
    """One pod that is overdue."""

    pod: ApiPod
    phase: str
    """One of PHASES: how far its end has come."""
    why: str
    seconds: float
    """Since the end of its grace period."""

    @property
    def ours(self) -> bool:
        """The node, not somebody's finalizer, holds it up."""
        return self.phase != "finalizers"


def blocked(known: Known | None, theirs: ApiPod) -> tuple[str, str]:
    """What the end of a pod that is being deleted waits for: phase, and why as far as that is known."""
    if known is None or (not known.seen.finished and not known.seen.termination_step):
        return "worker", "its worker has not begun to end it"
    if not known.seen.finished:
        return known.seen.termination_step, known.seen.termination_error or _BEGUN[known.seen.termination_step]
    if theirs.status.phase not in TERMINAL:
        return "status", "its last status is not written yet"
    if theirs.metadata.finalizers:
        return "finalizers", f"finalizers: {', '.join(theirs.metadata.finalizers)}"
    return "api", "the API server has not deleted it yet"


class TerminatingWatch:
    """Remembers whom it has told of."""

    def __init__(self) -> None:
        self._said: dict[str, tuple[str, float]] = {}
        """Phase and time by UID."""

    def overdue(self, table: PodTable, now: float) -> list[Stuck]:
        """All that are stuck. `now`: seconds since 1970."""
        found = []
        for pod in table.api.all():
            due = seconds(pod.metadata.deletionTimestamp)
            late = now - due
            if not due or pod.is_mirror or late < STUCK_SECONDS:
                continue
            phase, why = blocked(table.known.get(pod.uid), pod)
            found.append(Stuck(pod, phase, why, late))
        return found

    def to_say(self, stuck: list[Stuck], now: float) -> list[Stuck]:
        """Those of which users are to be told now: new ones, ones that wait for something else, and now and then."""
        self._said = {uid: said for uid, said in self._said.items() if uid in {each.pod.uid for each in stuck}}
        due = []
        for each in stuck:
            phase, when = self._said.get(each.pod.uid, ("", 0.0))
            if each.ours and (phase != each.phase or now - when >= SAY_AGAIN_SECONDS):
                self._said[each.pod.uid] = (each.phase, now)
                due.append(each)
        return due
