"""Keeps the API status of every pod, computed from what the workers observe and what the prober finds.

Crash-only: on start it says Hello to the workers and the prober, which send all they know again; only what the probes
said of each container is in a file, so that a restart of the whole agent changes no readiness. Joined to a cluster, it
goes on from the status that the API server has, and has `Writer` bring that up to date.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import Any, cast

import msgspec

from actors.api_clients.messages import KUBE_CLIENT, GetObject, ObjectRef, ObjectState
from actors.pod_config.messages import SourcePod, SourcePods
from actors.pod_workers.messages import KnownPods, pod_workers, worker_of
from actors.prober.messages import PROBER
from actors.shared.config.agent import Agent
from actors.shared.cri.model import Container as Runtime
from actors.shared.kube import codec
from actors.shared.kube.container import Container
from actors.shared.kube.node_addresses import host_ips, host_ips_without_node
from actors.shared.kube.pod import PodStatus
from actors.shared.linux.host_addresses import source_address
from supervision.actor import Actor, Address, AskError, on
from supervision.protocol import GetMetrics, Hello, MetricsSnapshot

from .api_pods import ApiPod
from .container_status import Readiness
from .joined import UPKEEP_SECONDS, Joined
from .known import Known, PodTable
from .live_pods import live_pods
from .memory import ProbeMemory
from .messages import (
    GetLivePods,
    GetPods,
    GetPodStatus,
    LivePods,
    PodObserved,
    Pods,
    PodStatusFound,
    ProbeResult,
)
from .phase import TERMINAL
from .pod_metrics import PodMetrics
from .pod_status import ENDED, Node, Observation
from .pod_status import compute as computed
from .start_latency import StartLatency

OLD_NS = 10_000_000_000
"""A container that started this long before the agent keeps its readiness until it is probed."""
SAVE_SECONDS = 0.5
NODE_SECONDS = 1.0
STRANGER_SECONDS = 600.0
"""After this long, what is remembered of pods that nobody told of is forgotten."""


class StatusManager(Actor):
    """Answers what /pods shows."""

    def __init__(
        self,
        clock_ns: Callable[[], int] = time.time_ns,
        monotonic: Callable[[], float] = time.monotonic,
        rng: random.Random | None = None,
    ) -> None:
        super().__init__()
        self._clock_ns, self.monotonic = clock_ns, monotonic
        self.rng = rng or random.Random()  # noqa: S311 - spreads load
        self._born_ns = clock_ns()
        self.table = PodTable()
        self.latency = StartLatency(self.metrics)
        self._numbers = PodMetrics(self.metrics)
        self._joined: Joined | None = None
        """None: standalone."""
        self._probes: dict[str, dict[tuple[str, str], ProbeResult]] = {}
        """By pod UID, then container name and kind."""
        self._node = Node([])
        self._memory = ProbeMemory("")
        self._saving = False
        self._workers: dict[str, list[str]] = {}
        """UIDs of the pods that each worker has told that it knows."""

    @property
    def agent(self) -> Agent:
        return cast(Agent, self.context)

    def now(self) -> float:
        """Seconds since 1970."""
        return self._clock_ns() / 1e9

    async def on_start(self) -> None:
        agent = self.agent
        runtime = "cri-o" if "crio" in agent.runtime_endpoint else "containerd"
        self._node = Node(host_ips_without_node(agent.node_ip, source_address) or ["127.0.0.1"], runtime)
        self._memory = ProbeMemory(f"{agent.state_dir}/status_manager/probes.json")
        self._memory.load()
        if self._memory.problem:
            self.log.warning("probe results of before: %s", self._memory.problem)
        hello = Hello(self.name, self.incarnation)
        for feeder in (*pod_workers(agent.workers), PROBER):
            self.tell(feeder, hello)
        self.after(STRANGER_SECONDS, self._forget_strangers)
        if not agent.standalone:
            self._joined = Joined(self, agent)
            self.tell(KUBE_CLIENT, hello)
            self.every(UPKEEP_SECONDS, self._joined.upkeep)
            self.after(0.0, self._learn_addresses)

    async def _learn_addresses(self) -> None:
        """Those of the node object count, once it has any: a pod's host is where its node is said to be."""
        question = GetObject(ObjectRef("Node", self.agent.node_name), wait=NODE_SECONDS)
        try:
            state = await self.ask(KUBE_CLIENT, question, ObjectState, timeout=2 * NODE_SECONDS)
        except AskError:
            state = ObjectState(question.ref)
        ips = host_ips(state.body)
        self.after(UPKEEP_SECONDS if ips else NODE_SECONDS, self._learn_addresses)
        if ips and ips != self._node.ips:
            self._node = msgspec.structs.replace(self._node, ips=ips)
            for known in list(self.table.known.values()):
                self.compute(known)

    # -- what is told ---------------------------------------------------------------------------------------------
    @on(PodObserved)
    def on_pod_observed(self, message: PodObserved, sender: Address) -> None:
        if message.gone:
            self._forget(message.uid)
            return
        known = self.table.known.get(message.uid)
        if known is None and not message.pod:
            # left over in the runtime, and no source has ever told of it: there is nothing to show
            return
        if known is None:
            known = self.table.known[message.uid] = Known(message, codec.decode_pod(message.pod), self.now())
        elif not self._take(known, message):
            self.metrics.count("status_manager_outdated_observations_total")
            return
        if known.seen.runtime is not None:
            self._memory.keep_containers(message.uid, {each.id for each in known.seen.runtime.containers})
        self.compute(known)

    @staticmethod
    def _take(known: Known, message: PodObserved) -> bool:
        """Take a newer observation; one of an older look at the runtime is not."""
        before = known.seen
        if not message.pod:
            message = msgspec.structs.replace(message, pod=before.pod)
        if message.runtime is None:
            message = msgspec.structs.replace(message, runtime=before.runtime)
        elif before.runtime is not None and message.runtime.at < before.runtime.at:
            return False
        if message.pod != before.pod:
            known.pod = codec.decode_pod(message.pod)
        known.seen = message
        return True

    @on(ProbeResult)
    def on_probe_result(self, message: ProbeResult, sender: Address) -> None:
        self._probes.setdefault(message.uid, {})[message.container, message.kind] = message
        known = self.table.known.get(message.uid)
        if known is not None:
            self.compute(known)

    def _forget(self, uid: str) -> None:
        known = self.table.known.pop(uid, None)
        self._probes.pop(uid, None)
        self._memory.keep_containers(uid, ())
        self._save_soon()
        if known is not None and self._joined is not None:
            self._joined.released(known)

    # -- what the API server has ----------------------------------------------------------------------------------
    @on(SourcePods)
    def on_source_pods(self, message: SourcePods, sender: Address) -> None:
        if self._joined is not None:
            self._joined.listed(message)

    @on(SourcePod)
    def on_source_pod(self, message: SourcePod, sender: Address) -> None:
        if self._joined is not None:
            self._joined.changed(message)

    @on(KnownPods)
    def on_known_pods(self, message: KnownPods, sender: Address) -> None:
        """What its own worker does not have any more is gone: one that was killed could not say so, and the next one
        never had the pod. A list that is made after a worker told of a pod has that pod."""
        self._workers[message.worker] = message.uids
        if self._joined is not None:
            self._joined.worker_has_spoken(message.worker)
        listed = set(message.uids)
        for uid in [uid for uid in self.table.known if uid not in listed]:
            if worker_of(uid, message.workers) == message.worker:
                self._forget(uid)

    # -- status ---------------------------------------------------------------------------------------------------
    def compute(self, known: Known) -> None:
        self._base(known)
        pod, before, theirs = known.pod, known.status, self.table.theirs(known)
        if theirs is not None:
            pod = msgspec.structs.replace(pod, status=theirs.status)
            before = _ended_there(known, theirs)
        observation = Observation(known.seen, pod, self._readiness(known), self._clock_ns())
        status = computed(observation, self._node, before)
        if status != known.status:
            self._measure(known, status)
        known.status = status
        if self._joined is not None:
            self._joined.writer.consider(known.uid)

    def _base(self, known: Known) -> None:
        """Let the status go on from what the API server has, once that is known."""
        if known.based or not self.table.api.synced:
            return
        theirs = self.table.theirs(known)
        if theirs is None:
            known.based = known.static
            return
        known.based = not (known.static and theirs.status.phase in TERMINAL and known.seen.worker_phase not in ENDED)
        if known.based:
            known.status = theirs.status

    def _measure(self, known: Known, status: PodStatus) -> None:
        if known.status is None or known.status.phase != status.phase:
            self.log.debug("pod %s: %s", known.full_name, status.phase)
        if status.phase == "Running" and known.status is not None and known.status.phase == "Pending":
            self.latency.first_running(known, self.now())
        self._numbers.changed(known, known.status, status)

    def _readiness(self, known: Known) -> Callable[[Container, Runtime], Readiness]:
        uid, results = known.uid, self._probes.get(known.uid, {})

        def of(container: Container, runtime: Runtime) -> Readiness:
            before = self._memory.get(uid, runtime.id) or known.readiness(container.name, runtime.id)
            if before is None:
                old = 0 < runtime.started_ns < self._born_ns - OLD_NS
                before = Readiness(old, old)
            started = container.startupProbe is None or _result(results, container, runtime, "startup", before.started)
            ready = container.readinessProbe is None or _result(results, container, runtime, "readiness", before.ready)
            found = Readiness(started, started and ready)
            if container.startupProbe is not None or container.readinessProbe is not None:
                self._memory.put(uid, runtime.id, found)
                self._save_soon()
            return found

        return of

    def _forget_strangers(self) -> None:
        """By now every worker has told its pods."""
        self._memory.keep_pods(self.table.known)
        self._save_soon()

    def _save_soon(self) -> None:
        if not self._saving:
            self._saving = True
            self.after(SAVE_SECONDS, self._save)

    def _save(self) -> None:
        self._saving = False
        problem = self._memory.problem
        self._memory.save()
        if self._memory.problem and self._memory.problem != problem:
            self.log.warning("probe results cannot be kept: %s", self._memory.problem)

    # -- what is asked --------------------------------------------------------------------------------------------
    @on(GetPods)
    def on_get_pods(self, message: GetPods, sender: Address) -> Pods:
        items = [_with_status(known, self.table.api.get(known.uid)) for known in self.table.sorted()]
        listed = {"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": items}
        return Pods(codec.encode(listed))

    @on(GetLivePods)
    def on_get_live_pods(self, message: GetLivePods, sender: Address) -> LivePods:
        known = [uid for uids in self._workers.values() for uid in uids]
        found = live_pods(self.table, known, standalone=self.agent.standalone)
        return LivePods(found, complete=len(self._workers) >= self.agent.workers)

    @on(GetMetrics)
    def on_get_metrics(self, message: GetMetrics, sender: Address) -> MetricsSnapshot:
        self._numbers.gauges(self.table)
        return self.metrics.snapshot(self.name, self.incarnation)

    @on(GetPodStatus)
    def on_get_pod_status(self, message: GetPodStatus, sender: Address) -> PodStatusFound:
        known = self.table.find(message.uid, message.namespace, message.name)
        if known is None:
            return PodStatusFound(message.uid, b"", b"")
        return PodStatusFound(known.seen.uid, known.seen.pod, codec.encode(known.status))


def _ended_there(known: Known, theirs: ApiPod) -> PodStatus | None:
    """The status of before, ended if somebody else has ended the pod at the API server: that is final."""
    if known.static or known.status is None or known.status.phase in TERMINAL or theirs.status.phase not in TERMINAL:
        return known.status
    ended = theirs.status
    return msgspec.structs.replace(known.status, phase=ended.phase, reason=ended.reason, message=ended.message)


def _result(
    results: dict[tuple[str, str], ProbeResult], container: Container, runtime: Runtime, kind: str, before: bool
) -> bool:
    """What the probe found of this very container; without any result what was known before."""
    found = results.get((container.name, kind))
    return found.success if found is not None and found.container_id == runtime.id else before


def _with_status(known: Known, theirs: ApiPod | None) -> dict[str, Any]:
    """The pod as its source gave it, with the status of now."""
    raw: dict[str, Any] = msgspec.json.decode(known.seen.pod)
    if theirs is not None:
        raw["metadata"]["resourceVersion"] = theirs.metadata.resourceVersion
    raw["status"] = known.status
    return raw
