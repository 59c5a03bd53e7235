"""The status manager's part in a cluster: what the API server has is taken in, and what it should have is put there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from actors.api_clients.messages import EVENT_CLIENT, RecordEvent
from actors.pod_config.messages import SourcePod, SourcePods
from actors.pod_workers.messages import pod_workers
from actors.shared.config.agent import Agent
from actors.shared.kube.codec import ObjectError
from actors.shared.kube.feed import FeedOrder

from . import api_pods
from .api_pods import ApiPod
from .known import Known
from .terminating import PHASES, TerminatingWatch
from .writer import Writer

if TYPE_CHECKING:
    from .actor import StatusManager

UPKEEP_SECONDS: Final = 10.0


class Joined:
    """One for a status manager that is not standalone."""

    def __init__(self, manager: StatusManager, agent: Agent) -> None:
        self._manager, self._table = manager, manager.table
        self.writer = Writer(manager, agent.node_name)
        self._order = FeedOrder(manager.monotonic)
        self._terminating = TerminatingWatch()
        self._silent = set(pod_workers(agent.workers))
        """Workers that have not told all their pods yet."""
        self._alone: set[str] = set()
        """UIDs of mirror pods that had no static pod the last time."""

    # -- what kube_client tells -------------------------------------------------------------------------------------
    def listed(self, message: SourcePods) -> None:
        """All that the API server has."""
        pods = self._order.full(message.revision, message.pods)
        if pods is None:
            return
        first, found = not self._table.api.synced, [pod for data in pods if (pod := self._read(data))]
        for pod in found:
            self._watched(pod)
        before = {pod.uid: self._table.keys(pod) for pod in self._table.api.all()}
        keys = set(self._table.known) if first else set()
        for uid in self._table.api.replace(found):
            keys.update(before.get(uid, ()), self._keys(uid))
        for key in keys:
            self._reconsider(key)
        self.writer.server_is_back()

    def changed(self, message: SourcePod) -> None:
        """One pod is new, another than before, or gone."""
        if not self._order.change(message.revision, message.uid, message.pod):
            return
        keys = self._keys(message.uid)
        if not message.pod:
            self._table.api.drop(message.uid)
            self._manager.latency.forget(message.uid)
        elif (pod := self._read(message.pod)) is not None:
            self._watched(pod)
            if not self._table.api.put(pod):
                return
        for key in {*keys, *self._keys(message.uid)}:
            self._reconsider(key)

    def _read(self, data: bytes) -> ApiPod | None:
        try:
            return api_pods.read(data)
        except ObjectError as error:
            self._manager.log.warning("a pod of the API server cannot be read: %s", error)
            return None

    def _watched(self, pod: ApiPod) -> None:
        self._manager.latency.watched(pod, self._table.known.get(pod.uid), self._manager.now())

    def _keys(self, uid: str) -> list[str]:
        pod = self._table.api.get(uid)
        return self._table.keys(pod) if pod is not None else [uid]

    def _reconsider(self, key: str) -> None:
        known = self._table.known.get(key)
        if known is not None:
            self._manager.compute(known)
        else:
            self.writer.consider(key)

    # -- what the workers tell --------------------------------------------------------------------------------------
    def worker_has_spoken(self, worker: str) -> None:
        """It has told all its pods."""
        self._silent.discard(worker)

    def released(self, known: Known) -> None:
        """Nothing of it is left: its mirror shows nothing any more; a newer static pod of that name may have one."""
        mirror = self._table.api.mirror(known.full_name) if known.static else None
        if mirror is not None:
            self._table.orphans.add(mirror.uid)
        for key in [known.uid, *(self._table.keys(mirror) if mirror is not None else ())]:
            self.writer.consider(key)

    # -- from time to time ------------------------------------------------------------------------------------------
    def upkeep(self) -> None:
        """All of it once more."""
        self._find_orphans()
        self._tell_stuck()
        self._table.ask_again()
        self.writer.consider_all()

    def _find_orphans(self) -> None:
        """Mirrors that have been without a static pod for one round at least, once every worker has spoken."""
        if self._silent:
            return
        alone = {each.uid for each in self._table.api.mirrors() if not self._table.statics(each.full_name)}
        known = {uid for uid in self._table.orphans if self._table.api.get(uid) is not None}
        self._table.orphans = known | (alone & self._alone)
        self._alone = alone

    def _tell_stuck(self) -> None:
        now = self._manager.now()
        stuck = self._terminating.overdue(self._table, now)
        for phase in PHASES:
            count = sum(each.phase == phase for each in stuck)
            self._manager.metrics.gauge("troupelet_pods_stuck_terminating", count, phase=phase)
        for each in self._terminating.to_say(stuck, now):
            text = f"still terminating {each.seconds:.0f} s after its grace period, {each.phase}: {each.why}"
            self._warn(each.pod, "FailedKillPod", text)

    def _warn(self, pod: ApiPod, reason: str, text: str) -> None:
        meta = pod.metadata
        self._manager.log.warning("pod %s (%s): %s", pod.full_name, pod.uid, text)
        event = RecordEvent(
            kind="Pod", namespace=meta.namespace, name=meta.name, uid=pod.uid,
            type="Warning", reason=reason, message=text[:1024],
        )  # fmt: skip
        self._manager.tell(EVENT_CLIENT, event)
