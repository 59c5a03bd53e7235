"""Registers the node, renews its Lease, and writes its status. A standalone agent has no heartbeat client.

It depends on no other actor: what they report is kept, and what they have not reported since the start stays as the API
has it. The Lease is renewed while every other actor is dead, and no restart shows in the node's status.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable
from typing import Any, Final

from actors.api_clients.api_actor import ApiActor
from actors.api_clients.event_client.messages import RecordEvent
from actors.api_clients.heartbeat_client.messages import (
    DeviceResources,
    NodePressure,
    NodeProblem,
    RuntimeReport,
    VolumesInUse,
)
from actors.api_clients.kube_client.messages import KUBE_CLIENT, GetObject, ObjectRef
from actors.cert_manager.messages import CERT_MANAGER
from actors.pleg.messages import PLEG, PodNetwork
from actors.shared.api.errors import ApiError, NotFound, Unreachable
from actors.shared.kube.node_addresses import HostAddresses
from actors.shared.linux.host_addresses import THIS_HOST
from supervision.actor import Address, AskError, on
from supervision.addresses import ActorName
from supervision.protocol import FORK_SERVER
from supervision.repeated_warnings import RepeatedWarnings

from ..event_client.messages import EVENT_CLIENT
from . import resolver_limits
from .first_ready import FirstReady
from .lease import JITTER, renew_seconds
from .lease_renewal import LeaseRenewal
from .network_check import NetworkCheck
from .node_events import NodeEvents, condition_event
from .node_registration import NodeRegistration
from .node_status.conditions import is_ready
from .node_status.fact_sources import FactSources
from .node_status.facts import Json, NodeStatusInput, NodeStatusResources, pod_cidr
from .node_status.machine import read_machine
from .node_status.runtime_state import RuntimeState
from .node_status.settings import settings_of
from .node_status.status import ComputedNode
from .node_writer import NodeWriter
from .own_objects import read_node
from .resolver_limits import ResolverLimits
from .server_trouble import ServerTrouble
from .serving_addresses import ServingAddresses
from .startup_times import StartupTimes, agent_started, since_boot
from .status_sync import StatusSync, StatusSyncClocks

VOLUMES_SECONDS: Final = 0.2
"""Volumes that come into use within this time are written together."""
WATCHED_SECONDS: Final = 1.0
"""Seconds that kube_client has to answer."""


class HeartbeatClient(ApiActor):
    """Keeps the Node object and the Lease. Its only state is the API's."""

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
        rng: Callable[[], float] = random.random,
        host: HostAddresses = THIS_HOST,
        root: str = "/",
    ) -> None:
        """`root`: the root directory of the host, with /etc, /proc and /sys."""
        super().__init__()
        self._clocks = StatusSyncClocks(monotonic=clock, wall=wall, rng=rng)
        self._host, self._root = host, root
        self._volumes_due = False
        """The status is written soon for new volumes in use."""

    # -- start and stop --------------------------------------------------------------------------------------------
    async def on_start(self) -> None:
        """Prepare everything that needs no server, then join."""
        self._warnings = RepeatedWarnings(self.log)
        agent, first = self.agent, self.incarnation == 1
        self._events = NodeEvents(agent.node_name, first=first)
        self._times = StartupTimes(agent_started(os.getppid()))
        self._sources = FactSources(
            self,
            NodeStatusInput(
                machine=read_machine(self._root), runtime=RuntimeState(started_at=self._clocks.monotonic())
            ),
            self._clocks.monotonic,
            self._host,
            found=self._addresses_found,
            old_cgroups=lambda: self._record(self._events.old_cgroups()) if first else None,
        )
        self._writer = NodeWriter(_Requests(self), agent.node_name, self._watched_node)
        every = float(agent.config.nodeStatusReportFrequency)
        self._status = StatusSync(
            self._writer,
            settings_of(agent),
            self._clocks,
            every,
            facts=lambda: self._sources.facts,
            seen=self._observe_node,
        )
        self._serving = ServingAddresses(self)
        clock = self._clocks.monotonic
        managed = agent.managed_runtime
        self._network = NetworkCheck(self, self._sources, agent.managed_runtime_dir, clock) if managed else None
        if first:
            self._record(self._events.starting())
        self._sources.start()
        await super().on_start()

    def limits(self) -> dict[str, Any]:
        config = self.agent.config
        return {"timeout": min(float(config.nodeStatusUpdateFrequency), float(config.nodeLeaseDurationSeconds))}

    async def on_joining(self) -> None:
        duration = self.agent.config.nodeLeaseDurationSeconds
        self._trouble = ServerTrouble(
            lambda state: self.tell(FORK_SERVER, state),
            self._clocks.monotonic,
            renew_seconds(duration),
            self.agent.node_name,
        )
        lease = LeaseRenewal(
            _Requests(self),
            self.agent.node_name,
            duration,
            wall=self._clocks.wall,
            pause=self.pause,
            on_failure=self._lease_failed,
            on_success=self._lease_renewed,
        )
        self.every(renew_seconds(duration), lease.renew, jitter=JITTER, immediately=True)
        self.start_task(self._join(), "registration")
        resolver = ResolverLimits(self.agent, self._record)
        self.every(resolver_limits.SECONDS, resolver.check, jitter=JITTER, immediately=True)

    async def on_hello(self, name: ActorName) -> None:
        if name == CERT_MANAGER:
            self._serving.repeat()

    # -- reports of others --------------------------------------------------------------------------------------------
    @on(RuntimeReport)
    def on_runtime(self, message: RuntimeReport, sender: Address) -> None:
        self._sources.learn_runtime(message)

    @on(NodeProblem)
    def on_problem(self, message: NodeProblem, sender: Address) -> None:
        news = self._sources.learn_problem(message.source, message.message)
        if news and message.source == "shutdown" and self._writer.node is not None:
            self.start_task(self._sync(), "status")  # from now on no pod may be scheduled here

    def _addresses_found(self, addresses: list[Json]) -> None:
        if self._writer.node is None:  # later the API's addresses count: a cloud may have set others
            self._serving.tell(addresses)

    @on(NodePressure)
    def on_pressure(self, message: NodePressure, sender: Address) -> None:
        self._sources.learn(pressure=message)

    @on(DeviceResources)
    def on_devices(self, message: DeviceResources, sender: Address) -> None:
        self._sources.learn(devices=NodeStatusResources(capacity=message.capacity, allocatable=message.allocatable))

    @on(VolumesInUse)
    def on_volumes_in_use(self, message: VolumesInUse, sender: Address) -> None:
        before = self._sources.facts.volumes_in_use or []
        self._sources.learn(volumes_in_use=sorted(message.names))
        if set(message.names) - set(before) and self._writer.node is not None and not self._volumes_due:
            self._volumes_due = True  # they are mounted only after the node reports them
            self.after(VOLUMES_SECONDS, self._sync_volumes)

    async def _sync_volumes(self) -> None:
        self._volumes_due = False
        await self._sync()

    # -- status -------------------------------------------------------------------------------------------------------
    async def _join(self) -> None:
        """Register, then write the status for as long as this process lives."""
        registration = NodeRegistration(
            self, self.agent, self._writer, self._status, self._sources, self._times, self._warnings
        )
        created = await registration.join()
        if created is not None:
            self._report_written(created)
        self.every(float(self.agent.config.nodeStatusUpdateFrequency), self._sync, jitter=JITTER)
        await self._sync()
        first = FirstReady(
            self._writer, self._status, watched=self._watched_node, observe=self._observe_node, write=self._sync
        )
        await first.run(self._clocks.monotonic, self.pause)

    async def _sync(self) -> None:
        """Compute the status, and write it when that is due."""
        try:
            computed = await self._status.sync()
        except ApiError as error:
            gone = "; it was deleted, and is registered again when the agent is restarted"
            self._warnings.warn(
                "status",
                f"the node's status was not written: {error}{gone if isinstance(error, NotFound) else ''}",
            )
            return
        self._warnings.resolved("status")
        if computed is not None:
            self._report_written(computed)

    async def _watched_node(self) -> Json | None:
        """The node that kube_client watches, which saves a request; None when it has none."""
        question = GetObject(ObjectRef("Node", self.agent.node_name), wait=0.0)
        try:
            state = await self.ask(KUBE_CLIENT, question, timeout=WATCHED_SECONDS)
            return read_node(state.body, self.agent.node_name) if state.body else None
        except (AskError, Unreachable):
            return None

    def _observe_node(self, node: Json) -> None:
        """The API's Node, each time that the status is computed."""
        boot_id = self._sources.facts.machine.boot_id
        for event in (*self._events.seen(node), *self._events.booted(node, boot_id)):
            self._record(event)
        cidr = pod_cidr(node)
        if self._network is not None:
            self._network.update(cidr)
        if cidr:
            self.tell(PLEG, PodNetwork(cidr), deadline=60.0)

    def _report_written(self, computed: ComputedNode) -> None:
        """The API has it."""
        for change in computed.events:
            self._record(condition_event(self.agent.node_name, change.reason))
        self._serving.tell(computed.node["status"].get("addresses") or [])
        if is_ready(computed.node):
            for metric, value in self._times.ready(since_boot()).items():
                self.metrics.gauge(metric, value)

    # -- events and log -----------------------------------------------------------------------------------------------
    def _record(self, event: RecordEvent) -> None:
        self.tell(EVENT_CLIENT, event, deadline=60.0)

    def _lease_failed(self, error: ApiError) -> None:
        self._trouble.failed(error)
        self.metrics.count("troupelet_lease_failures_total")
        if self._writer.node is not None:  # before that there is no node to own it
            self._warnings.warn("lease", f"the node's lease was not renewed: {error}")

    def _lease_renewed(self) -> None:
        self._trouble.answered()
        self.metrics.gauge("troupelet_lease_renewed_timestamp_seconds", self._clocks.wall())
        if self._warnings.resolved("lease"):
            self.log.info("the node's lease is renewed again")


class _Requests:
    """The Caller of this actor, with the client that it has at the time."""

    def __init__(self, actor: HeartbeatClient) -> None:
        self._actor = actor
        self.call = actor.request

    async def drop(self) -> None:
        if self._actor.client is not None:
            await self._actor.client.drop()
