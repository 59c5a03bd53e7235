"""A shard of the pods: has a pod worker for each pod whose UID hashes to it, and forwards messages to it.

Crash-only. Its pods come from `pod_config`, their containers from the runtime; running containers are adopted
unchanged. Until all sources have reported, nothing is stopped or removed.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import cast

from actors.container_manager.messages import CONTAINER_MANAGER, GetNodeResources
from actors.prober.messages import PROBER
from actors.shared.clock_jumps import WallClock
from actors.shared.config.agent import Agent
from actors.shared.config.fields.shutdown_windows import windows
from actors.shared.cri.client import CriClient
from actors.shared.state_files import StateFiles
from actors.shared.tracing.start import start_tracer
from actors.shared.tracing.tracer import Tracer
from actors.status_manager.messages import STATUS_MANAGER
from actors.volume_manager.messages import VOLUME_MANAGER
from supervision.actor import Actor, Address, AskError, on
from supervision.addresses import ActorName

from .containers.apparmor import read_apparmor
from .executor.container_starter import ContainerStarter
from .executor.kept_resources import KeptResources
from .executor.pod_worker import PodWorker
from .executor.services import ExecutorContext
from .garbage import ended_pods
from .garbage.container_gc import policy_of
from .inventory_reports import InventoryReports
from .maintenance import ShardMaintenance
from .messages import (
    DeadContainersRemoved,
    DesiredPods,
    KillPod,
    PodOperation,
    PodRuntimeChanged,
    PodRuntimeUnreadable,
    ProbeVerdict,
    RemoveDeadContainers,
    ResizeMayFit,
    RetryMounts,
    RuntimeHealth,
    RuntimePods,
)
from .overdue_kills import OverdueKills
from .pod.orders import KillOrdered, ProbeDecided
from .quarantine import QuarantinedPods
from .worker_table import PodWorkers

PODS_AT_ONCE = 4
"""The number of concurrent pod starts in one shard. It is high enough for pods that all hash to one shard; with more,
each start only takes longer (measured)."""
DEFAULT_MAXIMUM_BACKOFF_SECONDS = 300.0
ALLOCATABLE_RETRY_SECONDS = 10.0


class Shard(Actor):
    """See messages.py for its messages."""

    def __init__(
        self,
        runtime: CriClient | None = None,
        clock: Callable[[], float] = time.time,
        rng: random.Random | None = None,
        tracer: Tracer | None = None,
        inventory_consumers: Sequence[ActorName] = (),
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """`clock`: seconds since 1970; `monotonic`: one that nobody sets. `inventory_consumers`: actors that receive
        the pod inventory."""
        super().__init__()
        self._runtime, self._clock, self._monotonic, self._tracer = runtime, clock, monotonic, tracer
        self._inventory_consumers = inventory_consumers
        self._rng = rng or random.Random()  # noqa: S311 - spreads load
        self._health = RuntimeHealth(ready=False, network_ready=False)  # until the PLEG has asked the runtime

    async def on_start(self) -> None:
        self._agent = agent = cast(Agent, self.context)
        directory = Path(agent.run_dir) / "quarantine" / self.name
        self._quarantine = QuarantinedPods(self, directory, self._clock)
        self.services = services = self._make_services(agent)
        self._workers = workers = PodWorkers(services, self._quarantine, self._report_soon)
        self._inventory_reports = InventoryReports(self, agent.workers, self._inventory_consumers, workers.inventory)
        self._overdue = OverdueKills(self, workers.by_uid)
        self.start_task(self._learn_allocatable(), "allocatable")
        ShardMaintenance(services, workers).start()

    @property
    def pods(self) -> Mapping[str, PodWorker]:
        """By UID."""
        return self._workers.by_uid

    def _make_services(self, agent: Agent) -> ExecutorContext:
        config = agent.config
        tracer = self._tracer or start_tracer(self, config.tracing, agent.node_name)
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
            clock=WallClock(self._clock, self._monotonic),
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
        """Ask for the node's allocatable until there is an answer."""
        try:
            found = await self.ask(CONTAINER_MANAGER, GetNodeResources(), timeout=30.0)
        except AskError as error:
            self.log.warning("the node's allocatable is not known: %s", error)
            self.after(ALLOCATABLE_RETRY_SECONDS, self._learn_allocatable)
            return
        self.services.starter.parts.learn_allocatable(found.allocatable, found.pods_memory)

    async def on_hello(self, name: ActorName) -> None:
        if name in (STATUS_MANAGER, PROBER):
            for worker in self.pods.values():
                worker.publish_again()
            self._quarantine.report()
        if name == CONTAINER_MANAGER:
            self._recount_pods()
            self.start_task(self._learn_allocatable(), "allocatable")
        if name == VOLUME_MANAGER:
            for worker in self.pods.values():
                worker.mount_again()
        self._inventory_reports.report_to(name)

    def _recount_pods(self) -> None:
        """A new container manager knows no pods."""
        for worker in self.pods.values():
            worker.recount()
        self._quarantine.count()
        for worker in self.pods.values():
            worker.retry_resize(by_container_manager=False)

    def _report_soon(self) -> None:
        self._inventory_reports.report_soon()

    # -- desired pods ---------------------------------------------------------------------------------------------
    @on(DesiredPods)
    def on_desired(self, message: DesiredPods, sender: Address) -> None:
        for pod in message.pods:
            self._workers.set_desired(pod.uid, pod.pod)
        if message.more:
            return
        listed = {*message.others, *(pod.uid for pod in message.pods)}
        if message.sources_ready:
            self._workers.sources_reported(listed)
            self._inventory_reports.report()
        elif message.static_ready:
            self._workers.static_sources_reported(listed)

    @on(PodOperation)
    def on_operation(self, message: PodOperation, sender: Address) -> None:
        if message.op == "set":
            self._workers.set_desired(message.uid, message.pod)
        else:
            self._workers.remove(message.uid)
        self._report_soon()

    @on(KillPod)
    def on_kill(self, message: KillPod, sender: Address) -> None:
        if (data := self._quarantine.release_for_termination(message.uid)) is not None:
            self._workers.set_desired(message.uid, data)
        if message.uid in self.pods:
            self.pods[message.uid].tell(KillOrdered(message))
            self._overdue.ordered(message)

    # -- pods of the runtime --------------------------------------------------------------------------------------
    @on(RuntimePods)
    def on_runtime_pods(self, message: RuntimePods, sender: Address) -> None:
        self._workers.runtime_listed(message.pods, message.unread, message.at)
        self._inventory_reports.report()

    @on(PodRuntimeChanged)
    def on_runtime_changed(self, message: PodRuntimeChanged, sender: Address) -> None:
        self._workers.runtime_changed(message.runtime)
        self._report_soon()

    @on(PodRuntimeUnreadable)
    def on_runtime_unreadable(self, message: PodRuntimeUnreadable, sender: Address) -> None:
        if message.uid in self.pods:
            self.pods[message.uid].cannot_see(message.error)

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
            self.pods[message.uid].apply_probe_result(ProbeDecided(message.container_id, message.kind, message.success))

    @on(RemoveDeadContainers)
    async def on_remove_dead(self, message: RemoveDeadContainers, sender: Address) -> DeadContainersRemoved:
        return DeadContainersRemoved(await ended_pods.remove_containers(self.services, list(self.pods.values())))

    @on(ResizeMayFit)
    def on_resize_may_fit(self, message: ResizeMayFit, sender: Address) -> None:
        if message.uid in self.pods:
            self.pods[message.uid].retry_resize(by_container_manager=True)

    @on(RetryMounts)
    def on_retry_mounts(self, message: RetryMounts, sender: Address) -> None:
        if message.uid in self.pods:
            self.pods[message.uid].wake()
