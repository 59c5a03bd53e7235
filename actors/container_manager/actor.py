"""The container manager: admits pods and keeps their cgroups.

The ledger of admitted pods is only in memory. After a restart the workers report their pods again, running ones first,
and new pods wait for that (`admission/startup_hold.py`).
"""

from __future__ import annotations

import os
from typing import cast

from actors.pod_workers.messages import ShardPods
from actors.shared.config.agent import Agent
from actors.shared.cri.client import CriClient
from actors.shared.linux import oom_score
from actors.shared.linux.command import CommandRunner, run
from actors.shared.linux.system_bus import Call, SystemBus
from actors.shared.pod_inventory import PodInventory
from actors.shared.state_files import StateFiles
from actors.shutdown_manager.messages import NodeShutdown
from supervision.actor import Actor, Address, AskError, on
from supervision.repeated_warnings import RepeatedWarnings

from .admission.admission_gate import AdmissionGate
from .admission.counted_pods import CountedPods
from .admission.ledger import Ledger
from .admission.node_state import NodeView
from .admission.parts import AdmissionParts
from .admission.pod_admission import PodAdmission
from .admission.preemption import Preemption
from .admission.resize_admission import ResizeAdmission
from .admission.running_pods import RunningPods
from .cgroups.cgroup_manager import CgroupManager
from .cgroups.pod_limits import rules_of
from .context import ManagerContext
from .hardware_setup import pod_hardware, prepare_state
from .messages import (
    ActuatedResources,
    AdmissionFailed,
    AdmitPod,
    ContainerPrepared,
    CountRunningPod,
    ExclusiveHardware,
    FreeRequests,
    GetExclusiveHardware,
    GetNodeResources,
    GiveUserNamespace,
    NodeEvictions,
    NodeResources,
    PodAdmitted,
    PodRejected,
    PodReleased,
    PreparationFailed,
    PrepareContainer,
    ReleasePod,
    ResizePod,
    StopCounting,
    UserNamespaceGiven,
    UserNamespaceRefused,
)
from .node_resources import measure, pods_memory
from .periodic_tasks import PeriodicTasks
from .resizes.pod_resizes import REMOVED, PodResizes
from .resizes.pod_resource_records import PodResourceRecords
from .topology.provider import AllocationError
from .user_namespaces import PodUserNamespaces


class ContainerManager(Actor):
    """Wires its parts and hands each message to one of them; see messages.py."""

    def __init__(
        self, host: str = "", runner: CommandRunner = run, call: Call | None = None, runtime: CriClient | None = None
    ) -> None:
        """`host`: the root directory of a fake host. `runner` runs iptables. `call` calls systemd; None: over the
        system bus. `runtime` gets the CPUs of containers; None: the agent's runtime."""
        super().__init__()
        self._host, self._outside = host, (runner, call, runtime)

    async def on_start(self) -> None:
        agent = cast(Agent, self.context)
        config = agent.config
        runner, call, runtime = self._outside
        self._set_oom_score(config.oomScoreAdj)
        os.makedirs(agent.root_dir, 0o750, exist_ok=True)
        warnings = RepeatedWarnings(self.log)
        self._totals = totals = measure(agent, self._host)
        self._ledger, self._inventory = Ledger(), PodInventory()
        self._gate = AdmissionGate(self, agent, self._ledger, self._inventory)
        self._cgroups = CgroupManager(
            ManagerContext(self, agent, totals, warnings, self._host),
            self._ledger,
            self._inventory,
            found=self._gate.cgroups_found,
            call=call or SystemBus().call,
        )
        preemption = Preemption(self, self._ledger, self._gate)
        resizes = PodResizes(self, agent, totals, self._ledger, preemption, self._gate)
        records = PodResourceRecords(StateFiles.of(self, agent))
        await prepare_state(self, agent, runtime)
        self._hardware = pod_hardware(self, agent, self._ledger, warnings, self._host, runtime)
        rules = rules_of(config, totals.capacity)
        parts = AdmissionParts(self.log, rules, self._gate, preemption, self._cgroups, self._hardware)
        self._counted = CountedPods(parts, self._ledger, records, resizes)
        node = NodeView(config, totals.allocatable, self._ledger, self._gate)
        self._admission = PodAdmission(parts, node, self._counted)
        self._running_pods = RunningPods(parts, resizes, self._counted)
        self._resizes = ResizeAdmission(parts, resizes, self._counted)
        self._user_namespaces = PodUserNamespaces(agent, self._inventory, totals.allocatable["pods"])
        self._cgroups.start()
        resizes.start()
        self._gate.start()
        PeriodicTasks(self, config, warnings, self._host, runner).start()

    def _set_oom_score(self, score: int) -> None:
        if not self._host and not oom_score.set_score(score):
            self.log.warning("oom_score_adj stays as it is: %d is not permitted here", score)

    # -- pods ---------------------------------------------------------------------------------------------------------
    @on(AdmitPod)
    async def on_admit(self, message: AdmitPod, sender: Address) -> PodAdmitted | PodRejected | AdmissionFailed:
        return await self._admission.admit(message)

    @on(PrepareContainer)
    async def on_prepare(self, message: PrepareContainer, sender: Address) -> ContainerPrepared | PreparationFailed:
        try:
            allocation = await self._hardware.prepare(message.uid, message.container, message.ended)
        except (AllocationError, AskError) as error:
            return PreparationFailed(message.uid, message.container, str(error))
        return ContainerPrepared(message.uid, message.container, allocation)

    @on(CountRunningPod)
    async def on_count(self, message: CountRunningPod, sender: Address) -> None:
        await self._running_pods.count(message)

    @on(ResizePod)
    async def on_resize(self, message: ResizePod, sender: Address) -> PodAdmitted | PodRejected | AdmissionFailed:
        return await self._resizes.resize(message)

    @on(ActuatedResources)
    def on_actuated(self, message: ActuatedResources, sender: Address) -> None:
        self._counted.actuated(message)

    @on(GiveUserNamespace)
    async def on_give_user_namespace(
        self, message: GiveUserNamespace, sender: Address
    ) -> UserNamespaceGiven | UserNamespaceRefused:
        return await self._user_namespaces.give(message.uid)

    @on(StopCounting)
    async def on_stop_counting(self, message: StopCounting, sender: Address) -> None:
        """A coroutine, although it never waits, so that it runs after earlier admissions."""
        self._counted.withdraw(message.uid)

    @on(FreeRequests)
    async def on_free_requests(self, message: FreeRequests, sender: Address) -> None:
        self._counted.free_requests(message.uid)

    @on(ReleasePod)
    async def on_release(self, message: ReleasePod, sender: Address) -> PodReleased:
        return PodReleased(message.uid, await self._counted.release(message.uid))

    @on(ShardPods)
    async def on_shard_pods(self, message: ShardPods, sender: Address) -> None:
        for uid in self._inventory.update(message.worker, message.workers, message.uids):
            self._counted.withdraw(uid, REMOVED)
        await self._cgroups.ready()
        self._gate.pods_changed()
        if self._inventory.complete:
            self._counted.release_unknown(self._inventory)
        self._cgroups.pods_listed()

    # -- the node -----------------------------------------------------------------------------------------------------
    @on(NodeShutdown)
    def on_node_shutdown(self, message: NodeShutdown, sender: Address) -> None:
        self._gate.node_shutdown(message)

    @on(NodeEvictions)
    def on_node_evictions(self, message: NodeEvictions, sender: Address) -> None:
        self._gate.node_evictions(message)

    @on(GetExclusiveHardware)
    def on_get_exclusive_hardware(self, message: GetExclusiveHardware, sender: Address) -> ExclusiveHardware:
        return ExclusiveHardware(self._hardware.exclusive())

    @on(GetNodeResources)
    async def on_get_node_resources(self, message: GetNodeResources, sender: Address) -> NodeResources:
        await self._cgroups.ready()
        return NodeResources(
            self._totals.capacity,
            self._totals.allocatable,
            self._ledger.requested(),
            len(self._ledger),
            self._cgroups.driver,
            self._cgroups.version,
            pods_memory(self._totals.capacity, cast(Agent, self.context).config),
        )
