"""Holds a pod back before the admission checks: until other actors have reported and, after a restart, until the
running pods are counted."""

from __future__ import annotations

from typing import Final

from actors.shared.config.agent import Agent
from actors.shared.pod_inventory import PodInventory
from actors.shutdown_manager.messages import NodeShutdown
from supervision.actor import Actor

from ..messages import NodeEvictions
from .eviction_admission import EvictionAdmission
from .ledger import Ledger
from .shutdown_admission import ShutdownAdmission
from .startup_hold import StartupHold

ENDED: Final = "the shutdown of the node ends it"
EVICTED: Final = "the eviction manager ends it"


class AdmissionGate:
    """A pod that other actors end is not admitted; a new pod waits until that is known."""

    def __init__(self, actor: Actor, agent: Agent, ledger: Ledger, inventory: PodInventory) -> None:
        self._ledger = ledger
        self._evictions = EvictionAdmission(actor, standalone=agent.standalone)
        self._shutdown = ShutdownAdmission(actor, agent)
        self._hold = StartupHold(actor, ledger, inventory)

    def start(self) -> None:
        self._evictions.start()
        self._shutdown.start()

    # -- reports ----------------------------------------------------------------------------------------------------
    def node_evictions(self, report: NodeEvictions) -> None:
        self._evictions.update(report)

    def node_shutdown(self, report: NodeShutdown) -> None:
        self._shutdown.update(report)

    def cgroups_found(self, uids: frozenset[str]) -> None:
        """These pods have cgroups, so they may run: new pods wait until they are counted."""
        self._hold.start(uids)

    def pods_changed(self) -> None:
        """The ledger or the inventory has changed."""
        self._hold.update()

    # -- questions --------------------------------------------------------------------------------------------------
    @property
    def conditions(self) -> frozenset[str]:
        """The pressure conditions that are true."""
        return self._evictions.conditions

    @property
    def shutting_down(self) -> bool:
        return self._shutdown.active

    def evicted(self, uid: str) -> bool:
        """Whether the eviction manager ends this pod."""
        return self._evictions.is_ending(uid)

    async def ended_by(self, uid: str, *, running: bool) -> str:
        """Why this pod is not admitted, because other actors end it; '' if they do not. A pod that does not run waits
        for their reports."""
        if not running:
            await self._evictions.wait_for_report()
            await self._shutdown.wait_for_report()
            if self._shutdown.is_ending(uid, counted=uid in self._ledger):
                return ENDED
        return EVICTED if self.evicted(uid) else ""

    async def running_pods_counted(self, uid: str) -> None:
        """Wait until the running pods are counted. `uid`: the new pod that waits, which is not one of them."""
        self._hold.update(not_running=uid)
        await self._hold.wait()
