"""Removes the directories of pods that no worker has."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Final

from actors.shared.config.agent import Agent
from actors.shared.keyed_locks import KeyedLocks
from supervision.actor import Actor
from supervision.errors import error_text
from supervision.repeated_warnings import RepeatedWarnings

from . import orphans
from .pod_mounts import PodMounts
from .teardown import Teardown
from .volume_paths import is_uid

SWEEP_SECONDS: Final = 60.0
"""How often the removal of an orphan is tried again."""


class OrphanSweep:
    """Finds orphans at each report and order of the workers, and removes those whose grace period is over."""

    def __init__(
        self,
        actor: Actor,
        agent: Agent,
        mounts: PodMounts,
        teardown: Teardown,
        locks: KeyedLocks,
        clock: Callable[[], float],
    ) -> None:
        self._actor, self._agent, self._mounts, self._teardown = actor, agent, mounts, teardown
        self._locks, self._clock = locks, clock
        self._reported = orphans.ReportedPods()
        self._orphans: dict[str, float] = {}
        """Since when each pod is an orphan, by UID."""
        self._warnings = RepeatedWarnings(actor.log)
        self._logged_failures: set[str] = set()
        """Orphans whose failed removal is in the log."""

    def start(self) -> None:
        self._actor.every(SWEEP_SECONDS, self.sweep, jitter=0.1)

    def order_received(self, uid: str) -> None:
        """A worker has sent an order for the pod."""
        self._reported.order(uid)

    def pods_reported(self, worker: str, workers: int, uids: list[str]) -> None:
        """Apply a worker's ShardPods: forget the mounts of pods that no worker has."""
        self._reported.report(worker, workers, uids)
        for uid in self._mounts.uids:
            self.forget_orphan(uid)
        self.find()

    def forget_orphan(self, uid: str) -> bool:
        """Forget the mounts of the pod if no worker has it: no worker will order its unmount, so the sweep removes it.
        Returns whether no worker has it.
        """
        is_orphan = uid not in self._reported
        if is_orphan:
            self._mounts.forget(uid)
        return is_orphan

    def find(self) -> None:
        """Find orphans, and schedule the sweep for the end of the grace period of new ones."""
        before = self._orphans
        try:
            present = self.present()
        except OSError as error:
            self._warnings.warn("look", f"orphaned pods are looked for later: {error_text(error)}")
            return
        self._warnings.resolved("look")
        self._orphans = orphans.find_orphans(before, present, self._reported, self._clock())
        self._logged_failures &= self._orphans.keys()
        if self._orphans.keys() - before.keys():
            self._actor.after(orphans.GRACE_SECONDS, self.sweep)

    async def sweep(self) -> None:
        self.find()
        cleaned = 0
        for uid in orphans.removable(self._orphans, self._clock()):
            cleaned += await self._remove(uid)
        self._actor.metrics.gauge("kubelet_orphan_pod_cleaned_volumes", cleaned)
        self._actor.metrics.gauge("kubelet_orphan_pod_cleaned_volumes_errors", len(self._logged_failures))

    def present(self) -> list[str]:
        """UIDs of the pods with a directory. Raises OSError."""
        with os.scandir(self._agent.pods_dir) as entries:
            return [entry.name for entry in entries if entry.is_dir(follow_symlinks=False) and is_uid(entry.name)]

    async def _remove(self, uid: str) -> bool:
        async with self._locks.hold(uid):
            if uid in self._reported:
                return False
            self._mounts.forget(uid)
            error = await self._teardown.pod_dir(uid)
        if error:
            if uid not in self._logged_failures:
                self._logged_failures.add(uid)
                self._actor.log.warning("orphaned pod %s is not removed yet (tried each minute): %s", uid, error)
            return False
        self._logged_failures.discard(uid)
        self._actor.log.info("orphaned pod %s: its directory is removed", uid)
        return True
