"""The PLEG (pod lifecycle event generator): relists the runtime each second, and sends each worker its changed pods.

The relist is authoritative. Runtime events, if the runtime has them, only bring the status call for one pod forward. A
pod with a slow status call delays no other.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Mapping
from typing import Final, cast

from actors.api_clients.heartbeat_client.messages import HEARTBEAT_CLIENT
from actors.pod_workers.messages import PodRuntimeChanged, PodRuntimeUnreadable, RuntimePods, pod_workers, worker_of
from actors.shared.config.agent import Agent
from actors.shared.cri.client import CriClient
from actors.shared.cri.errors import CriError, Unimplemented, is_answer
from actors.shared.cri.model import CriContainer, CriContainerState, PodRuntime, Sandbox
from actors.shared.cri.node_listing import NodeListing
from actors.shared.cri.pod_lookup import ids
from actors.shared.cri.service_outage import RUNTIME, ServiceOutage
from actors.shared.tracing.start import start_tracer
from supervision.actor import Actor, Address, on
from supervision.addresses import ActorName
from supervision.time_scale import scaled

from . import runtime_view
from .events import listing
from .forgotten_shims import ForgottenShims
from .health_check import RuntimeHealthCheck
from .messages import ContainersUnlisted, GetRuntimePods, PodNetwork, RuntimeSnapshot, StartHangs
from .network_repairs import NetworkRepairs
from .pod_network import PodNetworkSetting
from .runtime_repairs import EXTERNAL_SHIMS_SECONDS, SHIMS_SECONDS, RuntimeRepairs
from .runtime_view import Relist, RuntimeView
from .status_calls import Failure, ListedPod, StatusCalls, listed_pods

RELIST: Final = "relist"
RELIST_SECONDS: Final = 1.0
STATUS_SECONDS: Final = 5.0
EVENTS_RETRY_SECONDS: Final = 5.0
FIRST_POLL_SECONDS = 3.0
"""The first relist waits this long for slow status calls; then the workers learn which pods are not known yet."""


class Pleg(Actor):
    """Messages and the relist, which `runtime_view` interprets."""

    def __init__(self) -> None:
        super().__init__()
        self._view = RuntimeView()
        self._listed_at = 0.0
        """The start of the last relist that the runtime answered, on the monotonic clock."""
        self._ids: frozenset[str] = frozenset()
        """All sandboxes and containers of the last list that the runtime gave."""

    @property
    def agent(self) -> Agent:
        return cast(Agent, self.context)

    async def on_start(self) -> None:
        config = self.agent.config
        tracer = start_tracer(self, config.tracing, self.agent.node_name)
        self._client = CriClient(
            self.agent.runtime_endpoint,
            request_seconds=float(config.runtimeRequestTimeout),
            tracer=tracer,
            metrics=self.metrics,
        )
        self._runtime_listing = NodeListing(self._client)
        self._outage = ServiceOutage(self, RUNTIME, self.agent.runtime_endpoint, self.agent.managed_log)
        self._health_check = RuntimeHealthCheck(self, self.agent, self._client, self._outage, lambda: self._listed_at)
        self._status_calls = StatusCalls(self, self._client, lambda: self._view.pods, self._on_status)
        self._pod_network = PodNetworkSetting(self._client, self.log)
        self._repairs = RuntimeRepairs(self, self.agent)
        self._network_repairs = NetworkRepairs(self, self.agent, self._repairs.restart)
        self.every(RELIST_SECONDS, self.relist, immediately=True)
        self.every(STATUS_SECONDS, self.check_health, immediately=True)
        self.start_task(self._follow_events(), "runtime events")
        period = SHIMS_SECONDS if self.agent.managed_runtime else EXTERNAL_SHIMS_SECONDS
        self.every(period, self._sweep_shims, jitter=0.1)
        if self.agent.standalone and config.podCIDR:
            self.every(STATUS_SECONDS, lambda: self._pod_network.apply(config.podCIDR), immediately=True)

    def _workers(self) -> list[ActorName]:
        return pod_workers(self.agent.workers)

    async def on_hello(self, name: ActorName) -> None:
        if name in self._workers():
            if self._health_check.checked:
                self.tell(name, self._health_check.health)
            self._send_all(name)
        elif name == HEARTBEAT_CLIENT:
            self._health_check.send_report()

    @on(GetRuntimePods)
    def on_get_runtime_pods(self, message: GetRuntimePods, sender: Address) -> RuntimeSnapshot:
        health, view = self._health_check.health, self._view
        return RuntimeSnapshot(
            list(view.pods.values()), view.relisted_at, health.ready, health.network_ready, health.message
        )

    @on(PodNetwork)
    async def on_pod_network(self, message: PodNetwork, sender: Address) -> None:
        """It is sent again with each look at the node, so a failure is tried again."""
        await self._pod_network.apply(message.cidr)

    @on(StartHangs)
    async def on_start_hangs(self, message: StartHangs, sender: Address) -> None:
        await self._repairs.start_hangs(message.container_id, self._ids)

    @on(ContainersUnlisted)
    async def on_containers_unlisted(self, message: ContainersUnlisted, sender: Address) -> None:
        await self._repairs.unlisted(f"pod {message.uid}", message.container_ids)

    # -- the relist -------------------------------------------------------------------------------------------------
    async def relist(self) -> None:
        """List everything. While the runtime does not answer, nothing is reported as changed or gone."""
        started_at = time.monotonic()
        try:
            sandboxes, containers = await self._runtime_listing.read()
        except CriError as error:
            if is_answer(error):
                self._outage.refused(RELIST, str(error))
            self._health_check.relist_failed(error)
            return
        self._outage.answered(RELIST)
        self._health_check.relisted()
        if self._listed_at:
            self.metrics.observe("kubelet_pleg_relist_interval_seconds", started_at - self._listed_at)
        self._listed_at = started_at
        self._ids = frozenset([*(one.id for one in sandboxes), *(one.id for one in containers)])
        self._count_running(sandboxes, containers)
        first = self._view.listing is None
        relist = runtime_view.relisted(self._view, listing(sandboxes, containers))
        self._view = relist.view
        await self._ask_for_changes(relist, started_at, listed_pods(started_at, relist.changed, sandboxes, containers))
        self._view = runtime_view.completed(self._view, started_at)
        if not self._health_check.health.ready:
            await self.check_health()  # it is back
        elif not self._health_check.health.network_ready:
            await self._health_check.check()  # a CNI plugin that is installed makes the node Ready within a second
        if first:
            self._health_check.send_report()
            for worker in self._workers():
                self._send_all(worker)
        self.metrics.observe("kubelet_pleg_relist_duration_seconds", time.monotonic() - started_at)
        self.metrics.gauge("kubelet_pleg_last_seen_seconds", time.time())

    async def _sweep_shims(self) -> None:
        sweeps = [self._repairs.sweep_shims]
        if not self.agent.managed_runtime:
            sweeps.append(ForgottenShims(self, self.agent, self._client).end)
        for sweep in sweeps:
            list_age = time.monotonic() - self._listed_at
            if self._health_check.health.ready and list_age <= SHIMS_SECONDS:
                there = self._ids.union(*map(ids, self._view.pods.values()))
                await sweep(there, list_age)

    def _count_running(self, sandboxes: list[Sandbox], containers: list[CriContainer]) -> None:
        self.metrics.gauge("kubelet_running_pods", sum(sandbox.ready for sandbox in sandboxes))
        counts = Counter(container.state for container in containers)
        for state in CriContainerState:
            self.metrics.gauge("kubelet_running_containers", counts[state], container_state=state.name.lower())

    async def _ask_for_changes(self, relist: Relist, at: float, listed: Mapping[str, ListedPod]) -> None:
        """Ask for the status of each pod that changed; the first time wait for the answers, not for ever."""
        tasks = [self._status_calls.ask(uid, listed[uid]) for uid in relist.changed]
        for uid in relist.gone:
            self._send(PodRuntime(uid=uid, at=at))
        started = [task for task in tasks if task is not None]
        if not self._view.relisted_at and started:
            await asyncio.wait(started, timeout=scaled(FIRST_POLL_SECONDS))

    def _on_status(self, uid: str, outcome: PodRuntime | Failure) -> None:
        """A status call has ended."""
        if isinstance(outcome, Failure):
            if uid not in self._view.failed:
                self.log.warning("pod %s: its status is asked for again with each relist: %s", uid, outcome)
            self._view = runtime_view.failed(self._view, uid)
            self.tell(worker_of(uid, self.agent.workers), PodRuntimeUnreadable(uid, outcome.error))
        else:
            self._view = runtime_view.answered(self._view, outcome)
            self._send(outcome)

    def _send(self, pod: PodRuntime) -> None:
        """Send a changed pod to its worker; before the first relist is complete, nothing."""
        if self._view.relisted_at and pod.uid:
            self.tell(worker_of(pod.uid, self.agent.workers), PodRuntimeChanged(pod.uid, pod))

    def _send_all(self, worker: ActorName) -> None:
        """All pods of one worker, once the first relist is complete."""
        view, workers = self._view, self.agent.workers
        if view.relisted_at:
            own = frozenset(uid for uid in view.uids if worker_of(uid, workers) == worker)
            known, unread = runtime_view.of_uids(view, own)
            self.tell(worker, RuntimePods(known, view.relisted_at, unread))

    async def _follow_events(self) -> None:
        """A runtime without events is asked for them once."""
        while True:
            try:
                first = True
                async for event in self._client.container_events():
                    self._count_event(event.created_ns / 1e9, first=first)
                    first = False
                    if event.pod_uid:
                        self._status_calls.ask(event.pod_uid)
            except Unimplemented:
                self.log.info("the runtime has no events; it is relisted every %.0f s", RELIST_SECONDS)
                return
            except CriError:
                self.metrics.count("kubelet_evented_pleg_connection_error_count")
            await asyncio.sleep(EVENTS_RETRY_SECONDS)

    def _count_event(self, created: float, *, first: bool) -> None:
        """`created`: seconds since 1970. `first`: of a connection."""
        if first:
            self.metrics.count("kubelet_evented_pleg_connection_success_count")
        self.metrics.observe("kubelet_evented_pleg_connection_latency_seconds", max(0.0, time.time() - created))

    # -- health -----------------------------------------------------------------------------------------------------
    async def check_health(self) -> None:
        """Ask the runtime whether it and its network are ready, and restore missing files of a managed runtime."""
        status = await self._health_check.check()
        if status is None:
            await self._network_repairs.unreachable()
            return
        await self._repairs.look(self._ids)
        if status.runtime_ready:
            if not status.network_ready:
                self._pod_network.forget_accepted()
            await self._network_repairs.look(ready=status.network_ready)
        await self._health_check.ask_version()
