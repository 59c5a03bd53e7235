"""Observes the eviction signals. Reading memory and process IDs never blocks; reading a disk may and has a deadline."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Final

import msgspec

from actors.image_manager.messages import IMAGE_MANAGER, GetImageFilesystem
from actors.shared.config.agent import Agent
from actors.shared.linux.cgroup_tree import CgroupTree
from actors.shared.stats import pod_cgroups
from actors.shared.stats.hanging_paths import HangingPaths
from supervision.actor import Actor, AskError, DisposableError
from supervision.time_scale import scaled

from .eviction_signals import disk_signals, layout_of, memory_signals, pid_signals
from .resources import CONTAINER_DISK, IMAGE_DISK, NODE_DISK, DiskLayout
from .thresholds import SignalObservation

DISK_SECONDS: Final = 8.0
WAIT_SECONDS: Final = 2.0
"""Deadline of reading the disks; later results are not used."""
_ASK_SECONDS: Final = 5.0
_READ: Final = "actors.eviction_manager.eviction_signals:read_disks"


class NodeObservations(msgspec.Struct, frozen=True):
    """The observations by signal; unknown signals are missing."""

    signals: dict[str, SignalObservation]
    layout: DiskLayout = DiskLayout.SINGLE


class NodeObserver:
    """`host`: the root directory of a simulated host."""

    def __init__(self, actor: Actor, agent: Agent, tree: CgroupTree, host: str = "") -> None:
        self._actor, self._agent, self._tree, self._host = actor, agent, tree, host
        self._mounts: dict[str, str] = {}
        """Directories of the runtime's disks."""
        self._kubepods = ""
        self._layout = DiskLayout.SINGLE
        disposable = actor.disposable
        self._hanging = HangingPaths(
            lambda function, arguments, deadline: disposable(function, arguments, deadline=deadline), actor.log
        )
        self._reading: asyncio.Task[dict[str, list[int]]] | None = None

    async def observe(self, *, disks: bool = True) -> NodeObservations:
        """Observe the node; without `disks` memory and process IDs only, which takes no time."""
        figures = await self._disks() if disks else {}
        if figures:
            self._layout = layout_of(figures)
        return NodeObservations({**self.memory(), **pid_signals(self._host), **disk_signals(figures)}, self._layout)

    def memory(self) -> dict[str, SignalObservation]:
        return memory_signals(self._tree, self.kubepods, self._host)

    @property
    def kubepods(self) -> str:
        """The cgroup of all pods; '' while it does not exist or cannot be looked for."""
        if not self._kubepods:
            roots = pod_cgroups.roots(self._agent.config.cgroupRoot)
            with suppress(OSError):
                self._kubepods = next((root for root in roots if self._tree.anywhere(root)), "")
        return self._kubepods

    async def _disks(self) -> dict[str, list[int]]:
        if self._reading is None or self._reading.done():
            self._reading = asyncio.ensure_future(self._read())
        done, _ = await asyncio.wait({self._reading}, timeout=scaled(WAIT_SECONDS))
        return self._reading.result() if done else {}

    async def _read(self) -> dict[str, list[int]]:
        directories = {NODE_DISK: self._agent.root_dir, **await self._runtime_disks()}
        try:
            disks = await self._hanging.ask(_READ, dict.fromkeys(directories.values()), DISK_SECONDS)
        except DisposableError as error:
            self._actor.log.warning("cannot read the free space of the disks: %s", error)
            return {}
        return {name: disks[path] for name, path in directories.items() if path in disks}

    async def _runtime_disks(self) -> dict[str, str]:
        """Directories of the runtime's disks; empty until the runtime reports them."""
        if not self._mounts:
            try:
                answer = await self._actor.ask(IMAGE_MANAGER, GetImageFilesystem(), timeout=_ASK_SECONDS)
            except AskError:
                return {}
            if answer.mountpoint:
                self._mounts = {IMAGE_DISK: answer.mountpoint, CONTAINER_DISK: answer.containers or answer.mountpoint}
        return self._mounts
