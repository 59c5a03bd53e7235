"""The container manager: admits pods and keeps their cgroups.

The ledger of admitted pods is only in memory. After a restart the workers report their pods again, running ones first,
and new pods wait for that (`startup_hold.py`).
"""

from __future__ import annotations

import os
from typing import cast

from actors.pod_workers.messages import KnownPods
from actors.shared.config.agent import Agent
from actors.shared.config.fields.kubelet_configuration import KubeletConfiguration
from actors.shared.cri.client import CriClient
from actors.shared.linux import cgroup_tree, oom
from actors.shared.linux.command import CommandRunner, run
from actors.shared.linux.system_bus import Call, SystemBus
from actors.shared.pod_inventory import PodInventory
from actors.shutdown_manager.messages import NodeShutdown
from supervision.actor import Actor, Address, AskError, on
from supervision.repeated_warnings import RepeatedWarnings

from .cgroup_driver import CgroupDriverChoice
from .cgroup_lock import CgroupLock
from .cgroup_removal import CgroupRemoval
from .cgroup_setup import CgroupSetup
from .counted_pods import CountedPods
from .eviction_admission import EvictionAdmission
from .hardware_setup import begin_state, pod_hardware
from .ledger import Ledger
from .messages import (
    ActuatedResources,
    AdmissionFailed,
    AdmitPod,
    ContainerPrepared,
    CountRunningPod,
    ExclusiveHardware,
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
from .node_allocatable import ENFORCE_SECONDS, NodeAllocatableCgroups
from .node_resources import measure, pods_memory
from .orphaned_cgroups import OrphanedCgroups
from .periodic_tasks import PeriodicTasks
from .pod_admission import PodAdmission
from .pod_cgroups import PodCgroups
from .pod_resizes import REMOVED, PodResizes
from .preemption import Preemption
from .qos_tiers import QosTiers
from .shutdown_admission import ShutdownAdmission
from .startup_hold import StartupHold
from .topology.provider import AllocationError
from .user_namespaces import PodUserNamespaces


class ContainerManager(Actor):
    """Wires its parts and hands each message to one of them; see messages.py."""

    def __init__(
        self, host: str = "", runner: CommandRunner = run, call: Call | None = None, runtime: CriClient | None = None
    ) -> None:
        """`host`: the root directory of a fake host; `runner` runs iptables; `call` calls systemd, None: by the
        system bus; `runtime` is told the CPUs of containers, None: the agent's."""
        super().__init__()
        self._host, self._outside = host, (runner, call, runtime)

    async def on_start(self) -> None:
        agent = cast(Agent, self.context)
        config = agent.config
        runner, call, runtime = self._outside
        self._set_oom_score(config.oomScoreAdj)
        os.makedirs(agent.root_dir, 0o750, exist_ok=True)
        tree, warnings = cgroup_tree.find(self._host), RepeatedWarnings(self.log)
        self.metrics.gauge("kubelet_cgroup_version", tree.version)
        self._totals = measure(agent, self._host)
        self._ledger, self._inventory = Ledger(), PodInventory()
        self._cgroups = PodCgroups(
            tree,
            agent.cgroup_root,
            call or SystemBus().call,
            measured=lambda operation, seconds: self.metrics.observe(
                "kubelet_cgroup_manager_duration_seconds", seconds, operation_type=operation
            ),
        )
        memory = pods_memory(self._totals.capacity, config)
        tiers = QosTiers(self, config, self._cgroups, self._ledger, memory, warnings)
        allocatable = NodeAllocatableCgroups(self, agent, tree, self._cgroups, tiers, self._totals, warnings)
        self._hold = StartupHold(self, self._ledger, self._inventory)
        driver = CgroupDriverChoice(self, agent, self._host)
        self._setup = CgroupSetup(self, agent, self._cgroups, driver, allocatable, self._hold)
        removal, lock = CgroupRemoval(self, self._cgroups, self._ledger), CgroupLock(self._host)
        self._orphans = OrphanedCgroups(self, self._cgroups, self._ledger, self._inventory, removal, lock, warnings)
        self._evictions = EvictionAdmission(self, standalone=agent.standalone)
        self._shutdown = ShutdownAdmission(self, agent)
        preemption = Preemption(self, self._ledger, self._evictions)
        self._resizes = resizes = PodResizes(self, agent, self._totals, self._ledger, preemption)
        await begin_state(self, agent, runtime)
        self._hardware = pod_hardware(self, agent, self._ledger, warnings, self._host, runtime)
        self._admission = self._pod_admission(config, tiers, removal, resizes)
        self.start_task(self._setup.run(), "setup")
        self._user_namespaces = PodUserNamespaces(agent, self._inventory, self._totals.allocatable["pods"])
        resizes.begin()
        self._evictions.begin()
        self._shutdown.begin()
        PeriodicTasks(self, config, warnings, self._host, runner).begin()
        if config.cgroupsPerQOS:
            self.every(ENFORCE_SECONDS, self._orphans.look, jitter=0.1)

    def _pod_admission(
        self, config: KubeletConfiguration, tiers: QosTiers, removal: CgroupRemoval, resizes: PodResizes
    ) -> PodAdmission:
        return PodAdmission(
            self,
            config,
            self._totals,
            self._ledger,
            self._setup,
            self._hold,
            self._evictions,
            self._shutdown,
            self._hardware,
            resizes,
            CountedPods(
                self,
                config,
                self._ledger,
                self._cgroups,
                self._setup,
                tiers,
                self._hold,
                removal,
                self._orphans,
                self._hardware,
                resizes,
            ),
        )

    def _set_oom_score(self, score: int) -> None:
        if not self._host and not oom.set_score(score):
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
        await self._admission.count(message)

    @on(ResizePod)
    async def on_resize(self, message: ResizePod, sender: Address) -> PodAdmitted | PodRejected | AdmissionFailed:
        return await self._admission.resize(message)

    @on(ActuatedResources)
    def on_actuated(self, message: ActuatedResources, sender: Address) -> None:
        self._resizes.actuated(message)

    @on(GiveUserNamespace)
    async def on_give_user_namespace(
        self, message: GiveUserNamespace, sender: Address
    ) -> UserNamespaceGiven | UserNamespaceRefused:
        return await self._user_namespaces.give(message.uid)

    @on(StopCounting)
    async def on_stop_counting(self, message: StopCounting, sender: Address) -> None:
        """A coroutine although it never waits, so that it runs after the admissions that came before it."""
        self._admission.counted.withdraw(message.uid)

    @on(ReleasePod)
    async def on_release(self, message: ReleasePod, sender: Address) -> PodReleased:
        return PodReleased(message.uid, await self._admission.counted.release(message.uid))

    @on(KnownPods)
    async def on_known_pods(self, message: KnownPods, sender: Address) -> None:
        for uid in self._inventory.update(message.worker, message.workers, message.uids):
            self._admission.counted.withdraw(uid, REMOVED)
        await self._setup.done()
        self._hold.update()
        if self._inventory.complete:
            self._admission.counted.release_unknown(self._inventory)
        if cast(Agent, self.context).config.cgroupsPerQOS:
            self._orphans.look()

    # -- the node -----------------------------------------------------------------------------------------------------
    @on(NodeShutdown)
    def on_node_shutdown(self, message: NodeShutdown, sender: Address) -> None:
        self._shutdown.update(message)

    @on(NodeEvictions)
    def on_node_evictions(self, message: NodeEvictions, sender: Address) -> None:
        self._evictions.update(message)

    @on(GetExclusiveHardware)
    def on_get_exclusive_hardware(self, message: GetExclusiveHardware, sender: Address) -> ExclusiveHardware:
        return ExclusiveHardware(self._hardware.exclusive())

    @on(GetNodeResources)
    async def on_get_node_resources(self, message: GetNodeResources, sender: Address) -> NodeResources:
        await self._setup.done()
        return NodeResources(
            self._totals.capacity,
            self._totals.allocatable,
            self._ledger.requested(),
            len(self._ledger),
            self._cgroups.driver,
            self._cgroups.version,
        )
