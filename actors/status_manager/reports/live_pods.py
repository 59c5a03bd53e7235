"""The pods for eviction and shutdown: which can be terminated, in which order, and which have ended. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from actors.shared.cri.model import CriContainerState
from actors.shared.kube.names import CLUSTER_CRITICAL_CLASS, NODE_CRITICAL_CLASS, SYSTEM_CRITICAL_PRIORITY
from actors.shared.kube.pod import Pod
from actors.shared.kube.pods import DEFAULT_GRACE_SECONDS, grace_period

from ..api_server.steps import next_step
from ..messages import ActivePod, ActivePods, LivePod, PodObserved
from ..pods.pod_table import PodTable
from ..pods.tracked_pod import TrackedPod
from .pages import page
from .pods_to_evict import what_counts

HIGHEST_PRIORITY: Final = 2**31 - 1
_OVER: Final = ("terminated", "rejected")
CLASSES: Final = {
    NODE_CRITICAL_CLASS: SYSTEM_CRITICAL_PRIORITY + 1000,
    CLUSTER_CRITICAL_CLASS: SYSTEM_CRITICAL_PRIORITY,
}
"""The priority classes that every cluster has. The API server resolves them, except for pods from files."""


def live_pods(table: PodTable, listed_by_workers: Iterable[str], *, standalone: bool) -> list[LivePod]:
    """`listed_by_workers`: UIDs. A pod that is being admitted, or adopted after a restart of the agent, has no report
    yet.
    """
    unreported = [uid for uid in listed_by_workers if table.get(uid) is None]
    return [*map(_unreported_pod, unreported), *(_reported_pod(table, each, standalone) for each in table.all())]


def active_pods(table: PodTable, after: str = "") -> ActivePods:
    """The pods that may use resources of the node, as their workers reported them. `after`: of the last page."""
    active = (each for each in table.all() if not (each.terminal or each.observed.worker_phase in _OVER))
    return ActivePods(*page(active, after, _active_pod, lambda pod: len(pod.pod)))


def _active_pod(tracked: TrackedPod) -> ActivePod:
    return ActivePod(tracked.uid, what_counts(tracked.observed.pod), _containers(tracked.observed))


def _containers(observed: PodObserved) -> dict[str, str]:
    containers = observed.runtime.containers if observed.runtime is not None else []
    return {instance.name: instance.id for instance in reversed(containers)}


def _unreported_pod(uid: str) -> LivePod:
    """A pod without a report gets the highest priority, so that it is not terminated too early."""
    return LivePod(
        uid=uid,
        full_name="",
        static=False,
        priority=HIGHEST_PRIORITY,
        grace_seconds=DEFAULT_GRACE_SECONDS,
        finished=False,
        status_written=False,
        reported=False,
    )


def _reported_pod(table: PodTable, tracked: TrackedPod, standalone: bool) -> LivePod:
    return LivePod(
        uid=tracked.uid,
        full_name=tracked.full_name,
        static=tracked.static,
        priority=priority_of(tracked.pod),
        grace_seconds=grace_period(tracked.pod),
        finished=tracked.observed.finished or tracked.observed.worker_phase == "rejected",
        status_written=standalone or is_written(table, tracked),
        started=started(tracked),
    )


def started(tracked: TrackedPod) -> float:
    """When the newest running container was started, seconds since 1970; 0.0 if none runs."""
    runtime = tracked.observed.runtime
    containers = runtime.containers if runtime is not None else []
    return (
        max((instance.started_ns for instance in containers if instance.state is CriContainerState.RUNNING), default=0)
        / 1e9
    )


def is_written(table: PodTable, tracked: TrackedPod) -> bool:
    """Whether the API server has the current status. Unknown before the first list."""
    return table.api.synced and next_step(table, tracked.uid) is None


def priority_of(pod: Pod) -> int:
    given = pod.spec.priority
    return CLASSES.get(pod.spec.priorityClassName, 0) if given is None else given
