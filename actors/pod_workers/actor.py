"""A shard of the pods: has a pod worker for each pod whose UID hashes to it, and forwards messages to it.

Crash-only. Its pods come from `pod_config`, their containers from the runtime; running containers are adopted
unchanged. Until all sources have reported, nothing is stopped or removed.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import cast

from actors.container_manager.messages import CONTAINER_MANAGER, GetNodeResources
from actors.prober.messages import PROBER
from actors.shared.config.agent import Agent
from actors.shared.config.fields.shutdown_windows import windows
from actors.shared.cri.client import CriClient
from actors.shared.cri.model import PodRuntime
from actors.shared.kube.codec import ObjectError, decode_pod
from actors.shared.state_files import StateFiles
from actors.shared.tracing.start import begin
from actors.shared.tracing.tracer import Tracer
from actors.status_manager.messages import STATUS_MANAGER
from actors.volume_manager.messages import VOLUME_MANAGER
from supervision.actor import Actor, Address, AskError, DisposableError, on
from supervision.addresses import ActorName

from .containers.apparmor import read_apparmor
from .executor.container_starter import ContainerStarter
from .executor.kept_resources import KeptResources
from .executor.pod_worker import PodWorker
from .executor.services import ExecutorContext
from .garbage import ended_pods, node_limit
from .garbage.container_gc import policy_of
from .inventory import ShardInventory
from .logs import orphans
from .logs.rotation import COMPRESS_SECONDS, LogRotation, limits_of
from .messages import (
    DeadContainersRemoved,
    DesiredPods,
    KillPod,
    KnownPods,
    PodOperation,
    PodRuntimeChanged,
    ProbeVerdict,
    RemoveDeadContainers,
    ResizeMayFit,
    RetryMounts,
    RuntimeHealth,
    RuntimePods,
)
from .overdue_kills import OverdueKills
from .pod.orders import KillOrdered, PodRemoved, ProbeDecided
from .pod.runtime import remains
from .pod.table import PodWorkerPhase
from .quarantine import QuarantinedPods

PODS_AT_ONCE = 4
"""The number of concurrent pod starts in one shard. It is high enough for pods that all hash to one shard; with more,
each start only takes longer (measured)."""
ORPHAN_GRACE_SECONDS = 1
"""For the containers of a pod that no source has, as in the kubelet."""
SWEEP_SECONDS = 60.0
DEFAULT_MAXIMUM_BACKOFF_SECONDS = 300.0


class Shard(Actor):
    """See messages.py for its messages."""

    def __init__(
        self,
        runtime: CriClient | None = None,
        clock: Callable[[], float] = time.time,
        rng: random.Random | None = None,
        tracer: Tracer | None = None,
        inventory_consumers: Sequence[ActorName] = (),
    ) -> None:
        """`clock`: seconds since 1970. `inventory_consumers`: actors that receive the pod inventory."""
        super().__init__()
        self._runtime, self._clock, self._tracer = runtime, clock, tracer
        self._inventory_consumers = inventory_consumers
        self._rng = rng or random.Random()  # noqa: S311 - spreads load
        self.pods: dict[str, PodWorker] = {}
        """By UID."""
        self._overdue = OverdueKills(self, self.pods)
        self._inventory = ShardInventory()
        self._health = RuntimeHealth(ready=False, network_ready=False)  # until the PLEG has asked the runtime

    async def on_start(self) -> None:
        self._agent = agent = cast(Agent, self.context)
        directory = Path(agent.run_dir) / "quarantine" / self.name
        self._quarantine = QuarantinedPods(self, directory, self._clock)
        self.services = services = self._make_services(agent)
        self._rotation = LogRotation(services.client, agent.pod_logs_dir, limits_of(agent.config), self._compress)
        self.start_task(self._learn_allocatable(), "allocatable")
        self.every(SWEEP_SECONDS, self._sweep, jitter=0.2)
        self.every(float(agent.config.containerLogMonitorInterval), self._rotate_logs, jitter=0.1)
        if node_limit.is_needed(services.garbage):
            self.every(node_limit.SECONDS, self._enforce_node_limit, jitter=0.1)

    def _make_services(self, agent: Agent) -> ExecutorContext:
        config = agent.config
        tracer = self._tracer or begin(self, config.tracing, agent.node_name)
        seconds = float(config.runtimeRequestTimeout)
        client = self._runtime or CriClient(
            agent.runtime_endpoint, request_seconds=seconds, tracer=tracer, metrics=self.metrics
        )
        maximum = config.crashLoopBackOff.maxContainerRestartPeriod
        return ExecutorContext(
            actor=self,
            agent=agent,
            client=client,
            kept_resources=KeptResources(StateFiles.of(self, agent)),
            starter=ContainerStarter(self, client, agent, PODS_AT_ONCE),
            tracer=tracer,
            clock=self._clock,
            rng=self._rng,
            health=lambda: self._health,
            garbage=policy_of(agent.flags),
            maximum_backoff=float(maximum or DEFAULT_MAXIMUM_BACKOFF_SECONDS),
            start_seconds=seconds,
            sync_seconds=float(config.syncFrequency),
            ends_pods=bool(windows(config)) or not agent.standalone,
            apparmor=read_apparmor(),
        )

    async def _learn_allocatable(self) -> None:
        try:
            found = await self.ask(CONTAINER_MANAGER, GetNodeResources(), timeout=30.0)
        except AskError:
            return
        self.services.starter.parts.learn_allocatable(found.allocatable)

    async def on_hello(self, name: ActorName) -> None:
        if name in (STATUS_MANAGER, PROBER):
            for worker in self.pods.values():
                worker.publish_again()
            self._quarantine.report()
        if name == CONTAINER_MANAGER:
            self._reaffirm()
        if name == VOLUME_MANAGER:
            for worker in self.pods.values():
                worker.renew_volumes()
        if name in self._inventory_consumers:
            self._inventory.report_again()
            self._tell_known()

    def _reaffirm(self) -> None:
        """A new container manager knows no pods."""
        for worker in self.pods.values():
            worker.reaffirm()
        self._quarantine.count()
        for worker in self.pods.values():
            worker.retry_resize(told=False)

    # -- desired pods ---------------------------------------------------------------------------------------------
    @on(DesiredPods)
    def on_desired(self, message: DesiredPods, sender: Address) -> None:
        wanted = {pod.uid for pod in message.pods}
        for pod in message.pods:
            self._set_desired_pod(pod.uid, pod.pod)
        if message.sources_ready:
            kept = self._inventory.sources_reported()
            for uid in (self.pods.keys() | self._quarantine.uids) - wanted:
                self._remove(uid)
            for runtime in kept:
                self._see(runtime)
            self._tell_known()

    @on(PodOperation)
    def on_operation(self, message: PodOperation, sender: Address) -> None:
        if message.op == "set":
            self._set_desired_pod(message.uid, message.pod)
        else:
            self._remove(message.uid)
        self._tell_known_soon()

    @on(KillPod)
    def on_kill(self, message: KillPod, sender: Address) -> None:
        if (data := self._quarantine.lets_end(message.uid)) is not None:
            self._set_desired_pod(message.uid, data)
        if message.uid in self.pods:
            self.pods[message.uid].tell(KillOrdered(message))
            self._overdue.ordered(message)

    def _set_desired_pod(self, uid: str, data: bytes) -> None:
        if self._quarantine.takes(uid, data):
            return
        try:
            with self._quarantine.handling(uid, data):
                pod = decode_pod(data)
        except ObjectError as error:
            self.log.error("pod %s cannot be read, it stays unchanged: %s", uid, error)
            return
        self._worker(uid).want(pod, data)

    def _remove(self, uid: str) -> None:
        if self._quarantine.removes(uid):
            # it is ended by the runtime's information alone: its manifest is not read again
            self._worker(uid, PodRuntime(uid=uid)).wake()
        if uid in self.pods:
            self.pods[uid].tell(PodRemoved())

    def _worker(self, uid: str, runtime: PodRuntime | None = None) -> PodWorker:
        worker = self.pods.get(uid)
        if worker is None:
            worker = self.pods[uid] = PodWorker(self.services, uid, runtime)
            if runtime is not None:
                self.services.starter.metrics.orphan()
            record = self._quarantine.journal.record_of(lambda: self._quarantine.key_of_termination(uid) or worker.key)
            self.start_task(self._run(worker), f"pod {uid}", record=record)
        return worker

    async def _run(self, worker: PodWorker) -> None:
        await worker.run()
        state = worker.state
        self.pods.pop(state.uid, None)
        self._quarantine.ended(state.uid)
        if state.wanted.again:
            if state.wanted.pod is not None:
                self.services.starter.metrics.restarted(state.wanted.pod)
            self._set_desired_pod(state.uid, state.wanted.again)
        if state.runtime is not None and remains(state.runtime, state.stopped):
            self._see(state.runtime)  # an order that came during its cleanup is handled once
        self._tell_known_soon()

    # -- pods of the runtime --------------------------------------------------------------------------------------
    @on(RuntimePods)
    def on_runtime_pods(self, message: RuntimePods, sender: Address) -> None:
        self._inventory.runtime_listed(message.unread)
        for runtime in message.pods:
            self._see(runtime)
        gone = (self.pods.keys() | self._quarantine.uids) - self._inventory.unread
        for uid in gone - {runtime.uid for runtime in message.pods}:
            self._see(PodRuntime(uid=uid, at=message.at))
        self._tell_known()

    @on(PodRuntimeChanged)
    def on_runtime_changed(self, message: PodRuntimeChanged, sender: Address) -> None:
        self._inventory.read(message.uid)
        self._see(message.runtime)
        self._tell_known_soon()

    def _see(self, runtime: PodRuntime) -> None:
        worker = self.pods.get(runtime.uid)
        if worker is not None:
            worker.see(runtime)
        elif runtime.uid in self._quarantine:
            self._quarantine.sees(runtime)
        elif not self._inventory.claims(runtime):
            where = f"{runtime.namespace}/{runtime.name}"
            self.log.info("no source has pod %s (%s): it is terminated", where, runtime.uid)
            orphan = self._worker(runtime.uid, runtime)
            orphan.tell(KillOrdered(KillPod(runtime.uid, "", "", ORPHAN_GRACE_SECONDS)))
            orphan.wake()

    @on(RuntimeHealth)
    def on_health(self, message: RuntimeHealth, sender: Address) -> None:
        recovered = message.ready and message.network_ready and not self._health.network_ready
        self._health = message
        if recovered:
            for worker in self.pods.values():
                worker.wake()

    @on(ProbeVerdict)
    def on_verdict(self, message: ProbeVerdict, sender: Address) -> None:
        if message.uid in self.pods:
            self.pods[message.uid].judge(ProbeDecided(message.container_id, message.kind, message.success))

    @on(RemoveDeadContainers)
    async def on_remove_dead(self, message: RemoveDeadContainers, sender: Address) -> DeadContainersRemoved:
        return DeadContainersRemoved(await ended_pods.remove_containers(self.services, list(self.pods.values())))

    @on(ResizeMayFit)
    def on_resize_may_fit(self, message: ResizeMayFit, sender: Address) -> None:
        if message.uid in self.pods:
            self.pods[message.uid].retry_resize(told=True)

    @on(RetryMounts)
    def on_volumes(self, message: RetryMounts, sender: Address) -> None:
        if message.uid in self.pods:
            self.pods[message.uid].wake()

    # -- periodic -------------------------------------------------------------------------------------------------
    def _sweep(self) -> None:
        """Remove the logs of unknown pods, once the sources and the runtime have reported."""
        if not self._inventory.complete:
            return
        known = self.pods.keys() | self._quarantine.uids | self._inventory.unread
        try:
            for path in orphans.sweep(self._agent, known, self.name, self._clock()):
                self.log.info("removed the logs of a pod that is gone: %s", path)
        except OSError as error:
            self.log.warning("logs of pods that are gone stay: %s", error)

    async def _rotate_logs(self) -> None:
        pods = [worker.state.runtime for worker in self.pods.values() if worker.state.runtime is not None]
        for problem in await self._rotation.round(pods, self._clock()):
            self.log.warning("%s", problem)

    async def _compress(self, path: str) -> None:
        try:
            target = "actors.pod_workers.logs.rotation:compress"
            await self.disposable(target, {"path": path}, deadline=COMPRESS_SECONDS)
        except DisposableError as error:
            self.log.warning("%s is not compressed: %s", path, error)

    async def _enforce_node_limit(self) -> None:
        known = {uid: worker.state.wanted.pod for uid, worker in self.pods.items()}
        await node_limit.enforce(self.services, {uid: pod for uid, pod in known.items() if pod is not None})

    def _tell_known_soon(self) -> None:
        """Report the pod inventory once for all that has arrived by now: pods come and go by the dozen."""
        if self._inventory.report_due():
            self.start_task(self._tell_due(), "pod inventory")

    async def _tell_due(self) -> None:
        self._tell_known()

    def _tell_known(self) -> None:
        """Report the pod inventory once it is complete."""
        active = {uid for uid, worker in self.pods.items() if worker.state.phase is not PodWorkerPhase.FINISHED}
        uids = self._inventory.news(active | self._quarantine.uids)
        if uids is not None:
            for name in self._inventory_consumers:
                self.tell(name, KnownPods(self.name, self._agent.workers, uids), deadline=30.0)
