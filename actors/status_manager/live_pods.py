"""The pods as somebody sees them who is to end them. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from actors.shared.cri.model import ContainerState
from actors.shared.kube.names import SYSTEM_CRITICAL_PRIORITY
from actors.shared.kube.pod import Pod
from actors.shared.kube.pods import grace_period

from .known import Known, PodTable
from .messages import LivePod

DEFAULT_GRACE_SECONDS: Final = 30
HIGHEST_PRIORITY: Final = 2**31 - 1
CLASSES: Final = {
    "system-node-critical": SYSTEM_CRITICAL_PRIORITY + 1000,
    "system-cluster-critical": SYSTEM_CRITICAL_PRIORITY,
}
"""The priority classes that every cluster has; the API server resolves them, but not those of a file's pods."""


def live_pods(table: PodTable, known_by_workers: Iterable[str], *, standalone: bool) -> list[LivePod]:
    """`known_by_workers`: UIDs. A pod that is being admitted, or adopted after a restart of the agent, has told nothing
    of itself yet."""
    unseen = [uid for uid in known_by_workers if uid not in table.known]
    return [*map(_unseen, unseen), *_seen(table, standalone)]


def _unseen(uid: str) -> LivePod:
    """Of the highest priority, so that nobody ends it before its turn: soon it is seen."""
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


def _seen(table: PodTable, standalone: bool) -> list[LivePod]:
    return [
        LivePod(
            uid=known.uid,
            full_name=known.full_name,
            static=known.static,
            priority=priority_of(known.pod),
            grace_seconds=grace_period(known.pod),
            finished=known.seen.finished or known.seen.worker_phase == "rejected",
            status_written=standalone or is_told(table, known),
            started=started(known),
        )
        for known in table.sorted()
    ]


def started(known: Known) -> float:
    containers = known.seen.runtime.containers if known.seen.runtime is not None else []
    return max((ran.started_ns for ran in containers if ran.state is ContainerState.RUNNING), default=0) / 1e9


def is_told(table: PodTable, known: Known) -> bool:
    """Whether there is nothing to write of it. Before the API server has said what it has, nobody knows."""
    return table.api.synced and table.step(known.uid) is None


def priority_of(pod: Pod) -> int:
    given = pod.spec.priority
    return CLASSES.get(pod.spec.priorityClassName, 0) if given is None else given
