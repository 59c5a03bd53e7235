"""Reports pods that run long after their grace period although the node has ordered their termination."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from actors.api_clients.event_client.messages import EVENT_CLIENT
from supervision.actor import Actor

from .executor.pod_worker import PodWorker
from .kubernetes_events import pod_event
from .messages import KillPod
from .pod.phase_transitions import PodWorkerPhase

LEAST_SECONDS: Final = 10.0
REASON: Final = "ExceededGracePeriod"
TEXT: Final = "Container runtime did not kill the pod within specified grace period."
_ALIVE: Final = frozenset({PodWorkerPhase.ADMITTING, PodWorkerPhase.RUNNING, PodWorkerPhase.TERMINATING})


def overdue_after(grace_seconds: int) -> float:
    """The time when a kill is overdue, as in the kubelet: one and a half grace periods after the order."""
    return max(LEAST_SECONDS, 1.5 * grace_seconds)


class OverdueKills:
    """The pods that the node has ordered to terminate. Orders are repeated: a pod's first one counts."""

    def __init__(self, actor: Actor, pods: Mapping[str, PodWorker]) -> None:
        self._actor, self._pods = actor, pods
        self._awaited: dict[str, PodWorker] = {}

    def ordered(self, order: KillPod) -> None:
        worker = self._pods.get(order.uid)
        if worker is None or self._awaited.get(order.uid) is worker:
            return
        self._awaited = {uid: one for uid, one in self._awaited.items() if self._pods.get(uid) is one}
        self._awaited[order.uid] = worker
        self._actor.after(overdue_after(order.grace_seconds), lambda: self._check_overdue(order.uid, worker))

    def _check_overdue(self, uid: str, worker: PodWorker) -> None:
        pod = worker.state.wanted.pod
        if self._pods.get(uid) is worker and worker.state.phase in _ALIVE and pod is not None:
            self._actor.log.warning("pod %s: %s", uid, TEXT)
            self._actor.tell(EVENT_CLIENT, pod_event(pod, "Warning", REASON, TEXT), deadline=60.0)
