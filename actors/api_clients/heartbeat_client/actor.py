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
from actors.api_clients.messages import (
    KUBE_CLIENT,
    DeviceResources,
    GetObject,
    NodePressure,
    NodeProblem,
    ObjectRef,
    RecordEvent,
    RuntimeReport,
    VolumesInUse,
)
from actors.cert_manager.messages import CERT_MANAGER, NodeAddresses
from actors.pleg.messages import PLEG, PodNetwork
from actors.shared.api.errors import ApiError, NotFound, Unreachable
from actors.shared.config.agent import Agent
from actors.shared.config.version import git_version
from actors.shared.kube.declared_features import declared_features
from actors.shared.kube.node_addresses import HostAddresses, specified_ips
from actors.shared.linux.host_addresses import THIS_HOST
from supervision.actor import Address, AskError, on
from supervision.addresses import ActorName
from supervision.protocol import FORK_SERVER, ServiceState
from supervision.repeated_warnings import RepeatedWarnings

from ..messages import EVENT_CLIENT
from . import managed_network, resolver_limits
from .lease import JITTER, renew_seconds
from .lease_renewal import LeaseRenewal
from .node_events import NodeEvents, condition_event
from .node_status.conditions import is_ready
from .node_status.fact_sources import FactSources
from .node_status.facts import Json, NodeSettings, NodeStatusInput, NodeStatusResources, pod_cidr
from .node_status.machine import read_machine
from .node_status.runtime_state import RuntimeState
from .node_status.status import Computed
from .node_writer import NodeWriter
from .own_objects import read_node
from .registration import RETRIES, RegistrationPlan, new_node, reconciled
from .resolver_limits import ResolverLimits
from .server_trouble import ServerTrouble
from .startup_times import StartupTimes, agent_started, since_boot
from .status_sync import StatusSync, StatusSyncClocks

FAST_SECONDS: Final = 0.1
FAST_LIMIT: Final = 120.0
"""A new node is checked so often, for so long at most, until it is ready."""
VOLUMES_SECONDS: Final = 0.2
"""Volumes that come into use within this time are written together."""
WATCHED_SECONDS: Final = 1.0
"""kube_client has so long to answer."""
DEVICE_CHECKPOINT: Final = "kubelet_internal_checkpoint"


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
        """`root` is where the host's /etc, /proc and /sys are found."""
        super().__init__()
        self._clocks = StatusSyncClocks(monotonic=clock, wall=wall, rng=rng)
        self._host, self._root = host, root
        self._addresses = NodeAddresses([], [])
        self._network_problem: str | None = None  # this incarnation has told nothing yet
        """As last sent to cert_manager."""
        self._volumes_due = False
        """The status is written soon for new volumes in use."""

    # -- life -----------------------------------------------------------------------------------------------------
    async def on_start(self) -> None:
        """Prepare everything that needs no server, then join."""
        self._warnings = RepeatedWarnings(self.log)
        agent, first = self.agent, self.incarnation == 1
        self._events = NodeEvents(agent.node_name, first=first)
        self._times = StartupTimes(agent_started(os.getppid()))
        self._sources = FactSources(
            self,
            NodeStatusInput(machine=read_machine(self._root), runtime=RuntimeState(began=self._clocks.monotonic())),
            self._clocks.monotonic,
            self._host,
            found=self._addresses_found,
            old_cgroups=lambda: self._record(self._events.old_cgroups()) if first else None,
        )
        self._writer = NodeWriter(_Requests(self), agent.node_name, self._watched_node)
        every = float(agent.config.nodeStatusReportFrequency)
        self._status = StatusSync(
            self._writer, settings_of(agent), self._clocks, every, facts=lambda: self._sources.facts, seen=self._seen
        )
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
            lambda state: self.tell(FORK_SERVER, state), self._clocks.monotonic, renew_seconds(duration)
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
        if name == CERT_MANAGER and (self._addresses.ips or self._addresses.names):
            self.tell(name, self._addresses)

    # -- reports of others --------------------------------------------------------------------------------------------
    @on(RuntimeReport)
    def on_runtime(self, message: RuntimeReport, sender: Address) -> None:
        self._sources.learn_runtime(message)

    @on(NodeProblem)
    def on_problem(self, message: NodeProblem, sender: Address) -> None:
        news = self._sources.learn_problem(message.source, message.message)
        if news and message.source == "shutdown" and self._writer.node is not None:
            self.start_task(self._sync(), "status")  # from now on no pod may be scheduled here

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
            self._volumes_due = True  # they are not mounted before the node says so
            self.after(VOLUMES_SECONDS, self._sync_volumes)

    async def _sync_volumes(self) -> None:
        self._volumes_due = False
        await self._sync()

    # -- registration -------------------------------------------------------------------------------------------------
    async def _join(self) -> None:
        """Register, then write the status for as long as this process lives."""
        failures = 0
        while not await self._registered():
            failures += 1
            await self.pause(RETRIES.pause(failures))
        self.every(float(self.agent.config.nodeStatusUpdateFrequency), self._sync, jitter=JITTER)
        await self._sync()
        await self._until_ready()

    async def _registered(self) -> bool:
        """One try. Without registerNode, wait for somebody else to register the node."""
        self._times.trying(since_boot())
        ours = self.agent.config.registerNode
        try:
            found = await self._writer.find()
            if found is None:
                return ours and await self._create()
            if ours:
                await self._writer.write(found, reconciled(found, self._plan()))
        except ApiError as error:
            self._warnings.warn("register", f"the node is not registered yet: {error}")
            return False
        self.log.info("node %s is registered already, as %s", self.agent.node_name, found["metadata"].get("uid"))
        return True

    async def _create(self) -> bool:
        await self._sources.enough.wait()
        computed = await self._status.create(new_node(self._plan()))
        if computed is None:
            return False
        self._times.registered(since_boot())
        self.log.info("node %s is registered", self.agent.node_name)
        self._written(computed)
        return True

    def _plan(self) -> RegistrationPlan:
        agent = self.agent
        return RegistrationPlan(
            name=agent.node_name,
            labels=agent.node_labels,
            taints=tuple((taint.key, taint.value, taint.effect) for taint in agent.config.registerWithTaints),
            provider_id=agent.config.providerID,
            external_cloud=agent.external_cloud,
            controller_attaches=agent.config.enableControllerAttachDetach,
            keep_volumes=bool(agent.flags.get("keep-terminated-pod-volumes")),
            reset_devices=not os.path.exists(f"{agent.device_plugins_dir}/{DEVICE_CHECKPOINT}"),
        )

    # -- status -------------------------------------------------------------------------------------------------------
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
            self._written(computed)

    async def _watched_node(self) -> Json | None:
        """As kube_client watches it, so that the server is not asked each time; None when kube_client has none."""
        question = GetObject(ObjectRef("Node", self.agent.node_name), wait=0.0)
        try:
            state = await self.ask(KUBE_CLIENT, question, timeout=WATCHED_SECONDS)
            return read_node(state.body, self.agent.node_name) if state.body else None
        except (AskError, Unreachable):
            return None

    def _seen(self, node: Json) -> None:
        """The API's Node, each time that the status is computed."""
        boot_id = self._sources.facts.machine.boot_id
        for event in (*self._events.seen(node), *self._events.booted(node, boot_id)):
            self._record(event)
        cidr = pod_cidr(node)
        if self.agent.managed_runtime:
            self._check_network(managed_network.problem(cidr, managed_network.read(self.agent.managed_runtime_dir)))
        if cidr:
            self.tell(PLEG, PodNetwork(cidr), deadline=60.0)

    def _check_network(self, problem: str) -> None:
        """Two nodes must not have the same pod addresses: until that is sure the node is not ready."""
        self._sources.learn_problem(managed_network.SOURCE, problem)
        if problem == self._network_problem:
            return
        self._network_problem = problem
        self.tell(FORK_SERVER, ServiceState(managed_network.SERVICE, problem, self._clocks.monotonic()))
        if problem:
            self.log.warning("%s", problem)

    def _written(self, computed: Computed) -> None:
        """The API has it."""
        for change in computed.events:
            self._record(condition_event(self.agent.node_name, change.reason))
        self._tell_addresses(computed.node["status"].get("addresses") or [])
        if is_ready(computed.node):
            for metric, value in self._times.ready(since_boot()).items():
                self.metrics.gauge(metric, value)

    async def _until_ready(self) -> None:
        """Write the first Ready at once, not at the next regular time."""
        end = self._clocks.monotonic() + FAST_LIMIT
        while self._clocks.monotonic() < end:
            node = self._writer.node
            if node is None or is_ready(node):
                return
            if is_ready(self._status.compute(node).node):
                await self._sync()
            await self.pause(FAST_SECONDS)

    # -- addresses ----------------------------------------------------------------------------------------------------
    def _addresses_found(self, addresses: list[Json]) -> None:
        if self._writer.node is None:  # later those of the API count: a cloud may have set others
            self._tell_addresses(addresses)

    def _tell_addresses(self, addresses: list[Json]) -> None:
        """Tell cert_manager what a serving certificate is to name."""
        ips = [one["address"] for one in addresses if one["type"].endswith("IP")]
        names = [one["address"] for one in addresses if not one["type"].endswith("IP")]
        told = NodeAddresses(ips, names)
        if told != self._addresses:
            self._addresses = told
            self.tell(CERT_MANAGER, told, deadline=60.0)

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


def settings_of(agent: Agent) -> NodeSettings:
    """What the configuration says of the node."""
    return NodeSettings(
        name=agent.node_name,
        kubelet_version=git_version(),
        kubelet_port=agent.config.port,
        node_ips=specified_ips(agent.node_ip),
        node_ip_given=bool(agent.node_ip),
        external_cloud=agent.external_cloud,
        max_images=agent.config.nodeStatusMaxImages,
        ephemeral_storage=agent.config.localStorageCapacityIsolation,
        declared_features=declared_features(agent.gate),
    )
