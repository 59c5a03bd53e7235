"""Pods that are still Terminating a minute after their grace period, and the cause of each. Pure."""

from __future__ import annotations

from typing import Final

import msgspec

from actors.shared.kube.pods import TERMINAL_PHASES
from actors.shared.kube.times import seconds

from ..pods.api_pods import ApiPod
from ..pods.pod_table import PodTable
from ..pods.tracked_pod import TrackedPod

STUCK_SECONDS: Final = 60.0
"""Seconds after the end of the grace period, which is deletionTimestamp (API reference, ObjectMeta)."""
REPEAT_SECONDS: Final = 300.0
"""Seconds after which a pod with an unchanged cause is reported again."""
REASONS: Final = ("worker", "containers", "sandbox", "volumes", "cgroup", "status", "finalizers", "api")
_BY_SERVER: Final = ("status", "api")
"""The reasons of pods that have ended here, and for which nothing is left to do but requests to the API server."""
_AWAY: Final = "away"
_DEFAULT_TEXTS: Final = {
    "containers": "containers still run",
    "sandbox": "its sandbox is not stopped yet",
    "claims": "its resource claims are not unprepared yet",
    "volumes": "its volumes are not unmounted yet",
    "cgroup": "its cgroup is not removed yet",
}
Reported = dict[str, tuple[str, float]]
"""By UID: the reason that was reported last, and when, seconds since 1970; or _AWAY, and when the pod last waited for
an API server that did not answer."""


class StuckPod(msgspec.Struct, frozen=True):
    """A pod that is overdue."""

    pod: ApiPod
    reason: str
    """One of REASONS."""
    text: str
    seconds: float
    """Seconds since the end of its grace period."""

    @property
    def held_by_node(self) -> bool:
        """Whether the node delays its termination, not a finalizer."""
        return self.reason != "finalizers"


def waits_for(tracked: TrackedPod | None, api_pod: ApiPod) -> tuple[str, str]:
    """The cause that delays the end of a pod that is being deleted: reason and text."""
    if tracked is None or (not tracked.observed.finished and not tracked.observed.termination_step):
        return "worker", "its worker has not begun to end it"
    observed = tracked.observed
    if not observed.finished:
        return observed.termination_step, observed.last_error or _DEFAULT_TEXTS[observed.termination_step]
    if api_pod.status.phase not in TERMINAL_PHASES:
        return "status", "its last status is not written yet"
    if api_pod.metadata.finalizers:
        return "finalizers", f"finalizers: {', '.join(api_pod.metadata.finalizers)}"
    return "api", "the API server has not deleted it yet"


def overdue(table: PodTable, now: float) -> list[StuckPod]:
    """All stuck pods. `now`: seconds since 1970."""
    found = []
    for pod in table.api.all():
        grace_end = seconds(pod.metadata.deletionTimestamp)
        late = now - grace_end
        if not grace_end or pod.is_mirror or late < STUCK_SECONDS:
            continue
        reason, text = waits_for(table.get(pod.uid), pod)
        found.append(StuckPod(pod, reason, text, late))
    return found


def due(
    stuck: list[StuckPod], reported: Reported, now: float, *, server_away: bool = False
) -> tuple[list[StuckPod], Reported]:
    """The stuck pods to report now (new ones, ones with another cause, and all again after a while), and the new state
    of what was reported.

    `server_away`: the API server does not answer. Pods that wait for it alone are not stuck; it has a minute for them
    when it is back.
    """
    found, after = [], {}
    for each in stuck:
        reason, when = reported.get(each.pod.uid, ("", 0.0))
        if each.reason in _BY_SERVER and (server_away or (reason == _AWAY and now - when < STUCK_SECONDS)):
            after[each.pod.uid] = (_AWAY, now if server_away else when)
            continue
        if each.held_by_node and (reason != each.reason or now - when >= REPEAT_SECONDS):
            found.append(each)
            reason, when = each.reason, now
        if reason:
            after[each.pod.uid] = (reason, when)
    return found, after
