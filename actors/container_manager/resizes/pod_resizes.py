"""Decides resizes of admitted pods, and retries those that wait for room whenever there may be some. The ledger counts
a pod's allocated resources and, until its worker reports the pod after the resize, the larger resources that its
containers still have. When a waiting resize fits, its desired resources are counted at once, which reserves the room,
and its worker is told to ask again. The worker's question, or its CountRunningPod, then corrects the count. The queue
is in memory only: the workers ask the next incarnation again.
"""

from __future__ import annotations

import asyncio
from typing import Final

from msgspec.structs import replace

from actors.pod_workers.messages import ResizeMayFit, worker_of
from actors.shared.admission.checks.node_conditions import resize_under_pressure
from actors.shared.admission.checks.node_shutdown import shutdown_refusal
from actors.shared.admission.checks.resources import resize_refusal
from actors.shared.admission.request import Demand, NodeState, Refusal
from actors.shared.config.agent import Agent
from actors.shared.kube.pod import Pod
from supervision.actor import Actor

from ..admission.admission_gate import AdmissionGate
from ..admission.ledger import Ledger
from ..admission.preemption import Preemption
from ..node_resources import NodeResourceTotals
from .resize_queue import ResizeQueue, WaitingResize
from .resize_rules import DEFERRED, RefusedResize, ResizeRules

OPEN_SECONDS: Final = 1.5
"""Seconds after a start during which resizes are collected. By then the workers have reported their pods' resources;
the resizes are then decided in order."""
FIRST_SECONDS: Final = 30.0
RETRY_SECONDS: Final = 180.0
"""When waiting resizes are retried although no pod has freed room: the kubelet's times."""
TELL_SECONDS: Final = 30.0
PERIODIC, UPDATED, RESIZED = "periodic_retry", "pod_updated", "pod_resized"
REMOVED, TERMINATED = "pods_removed", "pod_terminated"
"""The causes of another try; labels of a metric."""


class PodResizes:
    """All resizes of the node."""

    def __init__(
        self,
        actor: Actor,
        agent: Agent,
        totals: NodeResourceTotals,
        ledger: Ledger,
        preemption: Preemption,
        gate: AdmissionGate,
    ) -> None:
        self._actor, self._agent, self._totals = actor, agent, totals
        self._ledger, self._preemption, self._gate = ledger, preemption, gate
        config = agent.config
        static_cpu, static_memory = config.cpuManagerPolicy == "static", config.memoryManagerPolicy == "Static"
        self._rules = ResizeRules(agent.gate, static_cpu=static_cpu, static_memory=static_memory)
        self._queue, self._opened = ResizeQueue(), asyncio.Event()
        self._unsettled: dict[str, Demand] = {}
        """By pod UID: the resources that containers may still have until they are shrunk."""

    def start(self) -> None:
        self._actor.after(OPEN_SECONDS, self._open)
        self._actor.after(FIRST_SECONDS, self._retry_periodically)

    def infeasible(self, wanted: Pod, allocated: Pod) -> RefusedResize | None:
        """Why this pod can never have these resources here."""
        refused = self._rules.refusal(wanted, allocated)
        if refused is not None:
            self.forget(wanted.metadata.uid)
        return refused

    async def decide(self, resize: WaitingResize) -> RefusedResize | None:
        """Why the pod cannot have these resources, or not now (then it waits for room). None: it gets them, and they
        are counted."""
        self._ledger.add(self.counted(resize.before))
        self._queue.put(resize)
        await self._opened.wait()
        if resize.uid not in self._ledger:
            return None  # withdrawn meanwhile
        refused = self._refusal(resize)
        if refused is not None:
            self._queue.put(replace(resize, refusal=refused.message))
            return RefusedResize(refused.message, refused.reason, DEFERRED)
        self._queue.drop(resize.uid)
        self._count(resize)
        self._retry(UPDATED)
        return None

    def forget(self, uid: str) -> None:
        """Drop this pod's waiting resize."""
        self._queue.drop(uid)

    def settled(self, uid: str) -> str:
        """Drop this pod's waiting resize: its containers have their allocated resources. Returns the label for the
        resizes that get its room."""
        self._queue.drop(uid)
        return UPDATED if self._unsettled.pop(uid, None) is None else RESIZED

    def counted(self, demand: Demand) -> Demand:
        """The larger of the demand and what the pod's containers still have."""
        return at_least(demand, self._unsettled.get(demand.uid))

    def _count(self, resize: WaitingResize) -> None:
        had = self.counted(resize.before)
        counted = at_least(resize.after, had)
        if counted != resize.after:
            self._unsettled[resize.uid] = had
        self._ledger.add(counted)

    def resources_freed(self, why: str) -> None:
        """Other pods take less than before. `why`: one of the labels."""
        if self._opened.is_set():
            self._retry(why)

    def _open(self) -> None:
        self._retry("")
        self._opened.set()

    def _retry_periodically(self) -> None:
        self._retry(PERIODIC)
        self._actor.after(RETRY_SECONDS, self._retry_periodically)

    def _retry(self, why: str) -> None:
        """Give room, in order, to each resize that fits. One that waits for another reason than before asks again, as
        the pod's status says what it waits for. Without `why`, their workers are waiting for the answer."""
        for resize in self._queue.ordered():
            refused = self._refusal(resize)
            if refused is None:
                self._count(resize)
                self._queue.drop(resize.uid)
                if resize.since and why:
                    self._actor.metrics.count("kubelet_pod_deferred_accepted_resizes_total", retry_trigger=why)
            if why and (refused is None or refused.message != resize.refusal):
                worker = worker_of(resize.uid, self._agent.workers)
                self._actor.tell(worker, ResizeMayFit(resize.uid), deadline=TELL_SECONDS)

    def _refusal(self, resize: WaitingResize) -> Refusal | None:
        """The admission checks whose outcome can change while the pod runs."""
        node = NodeState(
            allocatable=self._totals.allocatable,
            usage=self._ledger.usage(),
            conditions=self._gate.conditions,
            shutting_down=self._gate.shutting_down,
        )
        if (refused := resize_under_pressure(resize.after, node)) is not None:
            return refused
        own = self._ledger.get(resize.uid) or resize.before
        for state in (node, self._preemption.afterwards(node, resize.uid, resize=True)):
            refused = resize_refusal(own, resize.after, state)
            if refused is not None:
                return refused
        return shutdown_refusal(node)


def at_least(demand: Demand, had: Demand | None) -> Demand:
    """The larger amount of each resource. Pure."""
    if had is None:
        return demand
    now, before = demand.requests, had.requests
    return replace(demand, requests={name: max(now.get(name, 0), before.get(name, 0)) for name in {**now, **before}})
