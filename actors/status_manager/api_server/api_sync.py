"""Keeps the API copy up to date with the API server's watch, and the API server with the pods of the status manager.

In: `SourcePods` and `SourcePod` of kube_client go into the API copy; the methods return the keys of the changed pods.
Out: `StatusWriter` performs what `steps.next_step` decides. Only a status manager with an API server has one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from actors.api_clients.event_client.messages import EVENT_CLIENT, RecordEvent
from actors.pod_config.messages import SourcePod, SourcePods
from actors.pod_workers.messages import pod_workers
from actors.shared.config.agent import Agent
from actors.shared.kube.codec import ObjectError
from supervision.actor import Actor

from ..pods import api_pods
from ..pods.api_pods import ApiPod
from ..pods.mirror import is_mirror_of
from ..pods.pod_table import PodTable
from ..pods.tracked_pod import TrackedPod
from ..times import PodStatusClocks
from . import stuck_pods
from .start_latency import StartLatency
from .stuck_pods import Reported
from .writer import StatusWriter

UPKEEP_SECONDS: Final = 10.0


class ApiSync:
    """Keeps pods and the API server in sync, in both directions. It computes no status."""

    def __init__(
        self,
        actor: Actor,
        table: PodTable,
        latency: StartLatency,
        agent: Agent,
        clocks: PodStatusClocks,
        recompute: Callable[[str], None],
    ) -> None:
        """`recompute`: see `ApiCalls`."""
        self._actor, self._table, self._latency = actor, table, latency
        self._now: Callable[[], float] = clocks.wall
        self.writer = StatusWriter(actor, table, agent.node_name, clocks, recompute)
        self._silent = set(pod_workers(agent.workers))
        """Workers that have not listed their pods yet."""
        self._reported: Reported = {}
        """The stuck pods that were reported."""

    # -- what kube_client sends -------------------------------------------------------------------------------------
    def listed(self, message: SourcePods) -> set[str]:
        """Take the list of all pods of the API server, or a part of it. Returns the keys of those that have changed."""
        first = not (self._table.api.synced or message.more)
        found = [pod for data in message.pods if (pod := self._read(data))]
        for pod in found:
            self._measure(pod)
        before = {pod.uid: self._table.keys(pod) for pod in self._table.api.all()}
        keys = set(self._table.uids()) if first else set()
        for uid in self._table.api.replace(found, message.others, more=message.more):
            keys.update(before.get(uid, ()), self._keys(uid))
            if self._table.api.get(uid) is None:
                self._latency.forget(uid)
        return keys

    def changed(self, message: SourcePod) -> set[str]:
        """Apply a new, changed or removed pod. Returns the keys of the concerned pods."""
        keys = self._keys(message.uid)
        if not message.pod:
            self._table.api.drop(message.uid)
            self._latency.forget(message.uid)
        elif (pod := self._read(message.pod)) is not None:
            self._measure(pod)
            if not self._table.api.put(pod):
                return set()
        return {*keys, *self._keys(message.uid)}

    def _read(self, data: bytes) -> ApiPod | None:
        try:
            return api_pods.read(data)
        except ObjectError as error:
            self._actor.log.warning("a pod of the API server cannot be read: %s", error)
            return None

    def _measure(self, pod: ApiPod) -> None:
        statics = self._table.statics(pod.full_name) if pod.is_mirror else []
        static = next((one for one in statics if is_mirror_of(pod, one.pod)), None)
        self._latency.watched(pod, static or self._table.get(pod.uid), self._now())

    def _keys(self, uid: str) -> list[str]:
        pod = self._table.api.get(uid)
        return self._table.keys(pod) if pod is not None else [uid]

    # -- reports of the workers ------------------------------------------------------------------------------------
    def worker_listed(self, worker: str) -> None:
        """A worker has listed its pods."""
        self._silent.discard(worker)

    def released(self, tracked: TrackedPod) -> None:
        """The pod is gone from the node: its mirror is an orphan, unless a newer static pod has the name."""
        mirror = self._table.api.mirror(tracked.full_name) if tracked.static else None
        if mirror is not None:
            self._table.add_orphan(mirror)
        self.writer.consider_all([tracked.uid, *(self._table.keys(mirror) if mirror is not None else ())])

    # -- every UPKEEP_SECONDS ---------------------------------------------------------------------------------------
    def upkeep(self) -> None:
        """Consider every pod again."""
        if not self._silent:
            self._table.find_orphans()
        self._report_stuck()
        self._table.forget_deletions()
        self.writer.consider_all((*self._table.uids(), *self._table.orphans()))

    def _report_stuck(self) -> None:
        now = self._now()
        stuck = stuck_pods.overdue(self._table, now)
        for reason in stuck_pods.REASONS:
            count = sum(each.reason == reason for each in stuck)
            self._actor.metrics.gauge("troupelet_pods_stuck_terminating", count, phase=reason)
        due, self._reported = stuck_pods.due(stuck, self._reported, now, server_away=self.writer.backlog.away)
        for each in due:
            text = f"still terminating {each.seconds:.0f} s after its grace period, {each.reason}: {each.text}"
            self._warn(each.pod, text)

    def _warn(self, pod: ApiPod, text: str) -> None:
        meta = pod.metadata
        self._actor.log.warning("pod %s (%s): %s", pod.full_name, pod.uid, text)
        event = RecordEvent(
            kind="Pod", namespace=meta.namespace, name=meta.name, uid=pod.uid,
            type="Warning", reason="FailedKillPod", message=text[:1024],
        )  # fmt: skip
        self._actor.tell(EVENT_CLIENT, event)
