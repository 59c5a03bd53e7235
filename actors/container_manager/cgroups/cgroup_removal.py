"""Removes the cgroups of pods, with retries while they are in use."""

from __future__ import annotations

from typing import Final

from actors.shared.linux.cgroup_files import CgroupError
from supervision.actor import Actor
from supervision.backoff import RetrySchedule

from ..admission.ledger import Ledger
from .pod_cgroups import PodCgroups
from .systemd_slices import SliceError

RETRIES: Final = RetrySchedule(first=0.5, limit=60.0)
_TRIES_BEFORE_WARNING: Final = 8
"""Tries before a warning; further ones are a minute apart."""


class CgroupRemoval:
    """Removes cgroups, except of a pod that is in the ledger again."""

    def __init__(self, actor: Actor, cgroups: PodCgroups, ledger: Ledger) -> None:
        self._actor, self._cgroups, self._ledger = actor, cgroups, ledger
        self._failures: dict[str, int] = {}

    def pending(self, uid: str) -> bool:
        """Whether a failed removal is being retried."""
        return uid in self._failures

    def cancel(self, uid: str) -> None:
        """The pod has returned: its cgroup stays."""
        self._failures.pop(uid, None)

    async def remove(self, uid: str) -> str:
        """Remove the cgroups. Returns those that are left, which are retried; '' for none."""
        try:
            left = await self._cgroups.remove(uid, lambda: uid in self._ledger)
        except (CgroupError, SliceError) as error:
            left = str(error)
        if left and uid not in self._ledger:
            failures = self._failures[uid] = self._failures.get(uid, 0) + 1
            self._actor.after(RETRIES.pause(failures), lambda: self._retry(uid))
        else:
            self._failures.pop(uid, None)
        return left

    async def _retry(self, uid: str) -> None:
        if uid in self._failures and uid not in self._ledger:
            left = await self.remove(uid)
            if left and self._failures.get(uid) == _TRIES_BEFORE_WARNING:
                text = "cgroups of pod %s are still in use (removal is tried each minute): %s"
                self._actor.log.warning(text, uid, left)
