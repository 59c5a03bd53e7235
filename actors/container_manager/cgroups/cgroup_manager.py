"""The cgroups of pods as the rest of the container manager sees them; without cgroupsPerQOS there are none."""

from __future__ import annotations

from collections.abc import Callable

from actors.shared.admission.request import Demand
from actors.shared.linux import cgroup_tree
from actors.shared.linux.cgroup_limits import CgroupLimits
from actors.shared.linux.system_bus import Call
from actors.shared.pod_inventory import PodInventory

from ..admission.ledger import Ledger
from ..context import ManagerContext
from ..node_resources import pods_memory
from .cgroup_driver import CgroupDriverChoice
from .cgroup_removal import CgroupRemoval
from .cgroup_setup import CgroupSetup
from .node_allocatable import ENFORCE_SECONDS, NodeAllocatableCgroups
from .orphaned_cgroups import OrphanedCgroups
from .pod_cgroups import PodCgroups
from .qos_tiers import QosTiers


class CgroupManager:
    """Creates the cgroup of a pod that is counted, and removes it when the pod is released."""

    def __init__(
        self,
        context: ManagerContext,
        ledger: Ledger,
        inventory: PodInventory,
        *,
        found: Callable[[frozenset[str]], None],
        call: Call,
    ) -> None:
        """`found` gets the UIDs of the pods that have cgroups, each time the driver is chosen. `call` calls systemd.
        Raises CgroupError."""
        self._actor, agent, tree = context.actor, context.agent, cgroup_tree.find(context.host)
        self._enabled, actor = agent.config.cgroupsPerQOS, context.actor
        actor.metrics.gauge("kubelet_cgroup_version", tree.version)
        self._cgroups = cgroups = PodCgroups(tree, agent.cgroup_root, call, measured=self._observe_seconds)
        memory = pods_memory(context.totals.capacity, agent.config)
        self._tiers = QosTiers(actor, agent.config, cgroups, ledger, memory, context.warnings)
        allocatable = NodeAllocatableCgroups(context, tree, cgroups, self._tiers)
        driver = CgroupDriverChoice(actor, agent, context.host)
        self._setup = CgroupSetup(actor, agent, cgroups, driver, allocatable, found)
        self._removal = CgroupRemoval(actor, cgroups, ledger)
        self._orphans = OrphanedCgroups(context, cgroups, ledger, inventory, self._removal)

    def _observe_seconds(self, operation: str, seconds: float) -> None:
        metric = "kubelet_cgroup_manager_duration_seconds"
        self._actor.metrics.observe(metric, seconds, operation_type=operation)

    def start(self) -> None:
        self._actor.start_task(self._setup.run(), "setup")
        if self._enabled:
            self._actor.every(ENFORCE_SECONDS, self._orphans.look, jitter=0.1)

    # -- the driver -------------------------------------------------------------------------------------------------
    @property
    def driver(self) -> str:
        """`cgroupfs` or `systemd`; final only once `ready` has returned."""
        return self._cgroups.driver

    @property
    def version(self) -> int:
        """1 or 2."""
        return self._cgroups.version

    async def ready(self) -> None:
        """Wait until the driver is chosen, and kubepods and its tiers exist."""
        await self._setup.done()

    async def ready_for_new_pod(self) -> None:
        """Wait as `ready` does, and ask the runtime for its driver again if it has not answered yet."""
        await self._setup.done_with_driver()

    # -- pods -------------------------------------------------------------------------------------------------------
    def demand_changed(self) -> None:
        """The ledger has changed: the limits of the QoS tiers follow soon."""
        self._tiers.update()

    async def create(self, demand: Demand, limits: CgroupLimits) -> str:
        """Create the cgroup of a pod in the ledger. Returns its path; '' without cgroupsPerQOS. Raises CgroupError,
        SliceError."""
        self._orphans.adopt(demand.uid)
        if not self._enabled:
            return ""
        self._tiers.update()
        return await self._cgroups.ensure_pod(demand.uid, demand.qos, limits)

    async def remove(self, uid: str) -> str:
        """Remove the cgroup of a pod that is not in the ledger. Returns the cgroups that are left and removed later; ''
        for none."""
        if not self._enabled:
            return ""
        await self._setup.done()
        return await self._removal.remove(uid)

    def pods_listed(self) -> None:
        """The inventory has changed: find orphaned cgroups."""
        if self._enabled:
            self._orphans.look()
