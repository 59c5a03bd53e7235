"""Removes the directories of pods that no worker knows."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Final

from actors.shared.config.agent import Agent
from supervision.actor import Actor

from . import orphans
from .layout import is_uid
from .locks import PodLocks
from .pod_mounts import PodMounts
from .teardown import Teardown

SWEEP_SECONDS: Final = 60.0
"""How often the removal of an orphan is tried again."""


class OrphanSweep:
    def __init__(
        self,
        actor: Actor,
        agent: Agent,
        mounts: PodMounts,
        teardown: Teardown,
        locks: PodLocks,
        clock: Callable[[], float],
    ) -> None:
        self._actor, self._agent, self._mounts, self._teardown = actor, agent, mounts, teardown
        self._locks, self._clock = locks, clock
        self._known = orphans.KnownPodsOfWorkers()
        self._unknown_since: dict[str, float] = {}
        self._reported: set[str] = set()
        """Orphans whose failed removal is in the log."""

    def start(self) -> None:
        self._actor.every(SWEEP_SECONDS, self.sweep, jitter=0.1)

    def wanted(self, uid: str) -> None:
        """A worker asks for something for the pod."""
        self._known = self._known.wanted(uid)

    def reported(self, worker: str, workers: int, uids: list[str]) -> None:
        """A worker's pods. What nobody has any more is forgotten."""
        self._known = self._known.reported(worker, workers, uids)
        for uid in self._mounts.uids:
            self.forget_unknown(uid)
        self.look()

    def forget_unknown(self, uid: str) -> bool:
        """Whether no worker has the pod: then nobody will ever ask to unmount it, and the sweep does."""
        unknown = not self._known.may_have(uid)
        if unknown:
            self._mounts.forget(uid)
        return unknown

    def look(self) -> None:
        """Note which directories are unknown, and come back when they have been so for long enough."""
        before = self._unknown_since
        self._unknown_since = orphans.look(before, self.present(), self._known, self._clock())
        if self._unknown_since.keys() - before.keys():
            self._actor.after(orphans.GRACE_SECONDS, self.sweep)

    async def sweep(self) -> None:
        self.look()
        cleaned = 0
        for uid in orphans.due(self._unknown_since, self._clock()):
            cleaned += await self._remove(uid)
        self._actor.metrics.gauge("kubelet_orphan_pod_cleaned_volumes", cleaned)
        self._actor.metrics.gauge("kubelet_orphan_pod_cleaned_volumes_errors", len(self._reported))

    def present(self) -> list[str]:
        """UIDs of the pods with a directory."""
        with os.scandir(self._agent.pods_dir) as entries:
            return [entry.name for entry in entries if entry.is_dir(follow_symlinks=False) and is_uid(entry.name)]

    async def _remove(self, uid: str) -> bool:
        async with self._locks.hold(uid):
            if self._known.may_have(uid):
                return False
            self._mounts.forget(uid)
            error = await self._teardown.pod_dir(uid)
        if error:
            if uid not in self._reported:
                self._reported.add(uid)
                self._actor.log.warning("orphaned pod %s is not removed yet (tried each minute): %s", uid, error)
            return False
        self._reported.discard(uid)
        self._actor.log.info("orphaned pod %s: its directory is removed", uid)
        return True
