"""Enforces node allocatable: limits all pods together, and the host's own processes, to their share of the node."""

from __future__ import annotations

import time
from typing import Final, Literal

from actors.api_clients.event_client.messages import EVENT_CLIENT, node_event
from actors.shared.kube.go_text import quoted
from actors.shared.kube.huge_pages import is_huge_pages, page_size
from actors.shared.linux.cgroup_files import CgroupError
from actors.shared.linux.cgroup_limits import UNLIMITED, CgroupLimits
from actors.shared.linux.cgroup_tree import CgroupTree
from supervision.process_messages import ServiceState
from supervision.protocol import FORK_SERVER

from ..context import ManagerContext
from ..node_resources import PIDS, enforced
from .pod_cgroups import PodCgroups
from .pod_limits import milli_to_shares
from .qos_tiers import QosTiers
from .reserved_cgroups import failure, owner, reserved_cgroups
from .systemd_slices import SliceError

ENFORCE_SECONDS: Final = 60.0
SERVICE: Final = "cgroups"
"""What `supervise status` calls them."""


class NodeAllocatableCgroups:
    """Limits are set at the start, and again each minute: another program may write to the cgroups."""

    def __init__(
        self,
        context: ManagerContext,
        tree: CgroupTree,
        cgroups: PodCgroups,
        tiers: QosTiers,
    ) -> None:
        agent, totals = context.agent, context.totals
        self._actor, self._agent, self._tree, self._cgroups, self._tiers = context.actor, agent, tree, cgroups, tiers
        pids = {} if totals.pids is None else {PIDS: totals.pids}
        # systemd removes limits that it does not know; the static policy keeps the CPUs of containers by itself
        cpus = totals.cpus if agent.config.cpuManagerPolicy == "none" else None
        self._limits = kubepods_limits(enforced({**totals.capacity, **pids}, agent.config), cpus)
        self._warnings = context.warnings
        self._reported = set[str]()
        """The limits that an event of the node has already reported."""
        self._last_report: str | None = None
        """The last report to `supervise status`; None: this incarnation has sent none."""

    async def enforce(self) -> None:
        try:
            await self._cgroups.ensure_tiers(self._limits)
            await self._tiers.apply(again=True)
        except (CgroupError, SliceError) as error:
            self._warnings.warn("enforce", f"the limits of all pods are not enforced (tried each minute): {error}")
            self._tell(f"the limits of all pods are not enforced: {error}")
            top = " ".join(map(quoted, self._cgroups.top_names))
            text = f"Failed to update Node Allocatable Limits [{top}]: {error}"
            self._record("Warning", "FailedNodeAllocatableEnforcement", text)
        else:
            self._warnings.resolved("enforce")
            self._tell("")
            if self._agent.config.cgroupsPerQOS:
                self._report_enforced("Updated Node Allocatable limit across pods")
        self._hold_reserved()

    def _tell(self, text: str) -> None:
        """Tell what `supervise status` says of the cgroups; '' for nothing."""
        if text != self._last_report:
            self._last_report = text
            self._actor.tell(FORK_SERVER, ServiceState(SERVICE, text, time.monotonic()))

    def _hold_reserved(self) -> None:
        """Limit the reserved cgroups that the configuration names."""
        for entry, field, path, limits in reserved_cgroups(self._agent.config, self._cgroups.driver):
            name = getattr(self._agent.config, field)
            try:
                self._tree.apply(path, limits)
            except CgroupError as error:
                text = f"{field}: {path} is not held to its reservation (tried each minute): {error}"
                self._warnings.warn(field, text)
                self._record("Warning", "FailedNodeAllocatableEnforcement", failure(entry, name, str(error)))
            else:
                self._warnings.resolved(field)
                self._report_enforced(f"Updated limits on {owner(entry)} cgroup {name}")

    def _report_enforced(self, text: str) -> None:
        """Emit the node's event, once in the life of the agent."""
        if self._actor.incarnation == 1 and text not in self._reported:
            self._record("Normal", "NodeAllocatableEnforced", text)
        self._reported.add(text)

    def _record(self, kind: Literal["Normal", "Warning"], reason: str, text: str) -> None:
        if not self._agent.standalone:
            event = node_event(self._agent.node_name, reason, text, kind)
            self._actor.tell(EVENT_CLIENT, event, deadline=60.0)


def kubepods_limits(amounts: dict[str, int], cpus: frozenset[int] | None = None) -> CgroupLimits:
    """The limits of the cgroup of all pods, from amounts in the units of `node_resources.capacity`, process IDs
    included. `cpus`: None leaves them as they are. Pure."""
    return CgroupLimits(
        cpu_shares=milli_to_shares(amounts["cpu"]),
        memory_bytes=amounts["memory"] if amounts["memory"] > 0 else UNLIMITED,
        pids=amounts.get(PIDS) or None,
        cpus=cpus,
        hugetlb={page_size(name): value for name, value in amounts.items() if is_huge_pages(name)},
    )
