"""Orphaned cgroups: cgroups of pods that no worker has. They are removed after a while."""

from __future__ import annotations

from typing import Final

from actors.shared.pod_inventory import PodInventory
from supervision.errors import error_text

from ..admission.ledger import Ledger
from ..context import ManagerContext
from .cgroup_lock import CgroupLock
from .cgroup_removal import CgroupRemoval
from .pod_cgroups import PodCgroups

ORPHAN_SECONDS: Final = 10.0
"""Seconds that a cgroup must be orphaned before it is removed."""
_LOOK: Final = "look"


class OrphanedCgroups:
    """Removes orphaned cgroups without processes. One with processes may belong to another agent's pod."""

    def __init__(
        self,
        context: ManagerContext,
        cgroups: PodCgroups,
        ledger: Ledger,
        inventory: PodInventory,
        removal: CgroupRemoval,
    ) -> None:
        self._actor, self._cgroups, self._ledger, self._inventory = context.actor, cgroups, ledger, inventory
        self._removal, self._lock, self._warnings = removal, CgroupLock(context.host), context.warnings
        self._suspected: set[str] = set()
        self._another_look_is_due = False

    def adopt(self, uid: str) -> None:
        """The pod is admitted: its cgroup is not an orphan."""
        self._suspected.discard(uid)
        self._removal.cancel(uid)

    def look(self) -> None:
        """Find orphans, which are removed if they are still orphans after ORPHAN_SECONDS."""
        try:
            new = self._orphans() - self._suspected
        except OSError as error:
            self._look_later(error)
            return
        self._warnings.resolved(_LOOK)
        if new:
            self._suspected |= new
            self._actor.after(ORPHAN_SECONDS, lambda: self._sweep(new))

    def _orphans(self) -> set[str]:
        if not self._inventory.complete:
            return set()
        return {uid for uid in self._cgroups.present() if uid not in self._inventory and uid not in self._ledger}

    def _look_later(self, error: OSError) -> None:
        self._warnings.warn(_LOOK, f"cgroups of pods that no worker has are looked for later: {error_text(error)}")
        if not self._another_look_is_due:  # each look that fails would add one, and each of those another
            self._another_look_is_due = True
            self._actor.after(ORPHAN_SECONDS, self._look_again)

    def _look_again(self) -> None:
        self._another_look_is_due = False
        self.look()

    async def _sweep(self, found: set[str]) -> None:
        """Those that cannot be looked at now are found again."""
        suspected, self._suspected = self._suspected, self._suspected - found
        try:
            due = {uid for uid in self._orphans() & found & suspected if not self._removal.pending(uid)}
            busy = {uid for uid in due if self._cgroups.busy(uid)}
        except OSError as error:
            self._look_later(error)
            return
        top = self._cgroups.top
        if due and not self._lock.acquire(top):
            self._warnings.warn("lock", f"another agent uses the cgroups {top}: set cgroupRoot for one of them")
            return
        for uid in sorted(due):
            if uid in busy:
                self._warnings.warn(uid, f"cgroup of pod {uid}, which is not ours, has processes: left alone")
            elif not await self._removal.remove(uid) and uid not in self._ledger:
                self._actor.log.info("cgroup of pod %s, which no worker has, is removed", uid)
