"""The cgroups of pods: kubepods, its QoS tiers, one for each pod. With systemd's driver a slice is asked for first, and
the files are written all the same, as systemd rounds and leaves out."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Final
from weakref import WeakValueDictionary

import msgspec

from actors.shared.linux.cgroup_limits import UNLIMITED, Limits
from actors.shared.linux.cgroup_names import CgroupName, join, path_of, unescaped
from actors.shared.linux.cgroup_tree import CgroupTree

from .pod_limits import BEST_EFFORT, BURSTABLE, GUARANTEED
from .systemd_slices import Slices

PODS: Final = "kubepods"
TIERS: Final = {GUARANTEED: (), BURSTABLE: ("burstable",), BEST_EFFORT: ("besteffort",)}
_KILL_ROUNDS: Final = 20
_KILL_PAUSE: Final = 0.05


class PodCgroups:
    """Makes, sets and removes them. Methods raise CgroupError and SliceError; all are idempotent."""

    def __init__(self, tree: CgroupTree, root: CgroupName, slices: Slices | None = None) -> None:
        """`slices`: given with systemd's driver."""
        self._tree, self._slices = tree, slices
        self.driver = "cgroupfs" if slices is None else "systemd"
        self._top = join(root, PODS)
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    @property
    def version(self) -> int:
        return self._tree.version

    @property
    def top(self) -> str:
        """The path of kubepods."""
        return self.path(self._top)

    def path(self, name: CgroupName) -> str:
        """Below each hierarchy's mount point, and in the sandbox's config."""
        return path_of(name, self.driver)

    def name(self, uid: str, qos: str) -> CgroupName:
        return join((*self._top, *TIERS[qos]), f"pod{uid}")

    # -- the tree ---------------------------------------------------------------------------------------------------
    async def ensure_tiers(self, limits: Limits) -> None:
        """kubepods with its limits, and the tiers below it. Their own limits are set by set_tier."""
        await self._ensure(self._top, limits)
        for tier in TIERS.values():
            if tier:
                await self._ensure((*self._top, *tier), Limits())

    async def set_tier(self, qos: str, limits: Limits) -> None:
        """A limit of memory is never set below what is in use: the kernel would refuse that (v1), or kill (v2)."""
        name = (*self._top, *TIERS[qos])
        most = limits.memory_bytes
        if most is not None and most != UNLIMITED:
            limits = msgspec.structs.replace(limits, memory_bytes=max(most, self._in_use(name)))
        if self._slices is not None:
            await self._slices.update(name, limits)
        self._tree.apply(self.path(name), limits)

    def _in_use(self, name: CgroupName) -> int:
        """Bytes of memory."""
        file = "memory.current" if self.version == 2 else "memory.usage_in_bytes"
        try:
            return int(self._tree.read(self.path(name), "memory", file))
        except (OSError, ValueError):
            return 0

    async def ensure_pod(self, uid: str, qos: str, limits: Limits) -> str:
        """The pod's cgroup with its limits; its path."""
        name = self.name(uid, qos)
        async with self._turn(uid):
            await self._ensure(name, limits)
        return self.path(name)

    def _turn(self, uid: str) -> asyncio.Lock:
        """What is made for a pod that comes back must not be removed by what its last life had begun."""
        return self._turns.setdefault(uid, asyncio.Lock())

    async def _ensure(self, name: CgroupName, limits: Limits) -> None:
        path = self.path(name)
        if self._slices is not None:
            await self._slices.start(name, limits)
        self._tree.create(path)
        self._tree.apply(path, limits)

    # -- what is there ----------------------------------------------------------------------------------------------
    def present(self) -> dict[str, list[CgroupName]]:
        """The cgroups of pods that are there in any hierarchy, by UID: usually one for each."""
        found: dict[str, list[CgroupName]] = {}
        for uid, name in self._found():
            found.setdefault(uid, []).append(name)
        return found

    def _found(self) -> Iterator[tuple[str, CgroupName]]:
        for tier in TIERS.values():
            above = (*self._top, *tier)
            for part in unescaped(self._tree.children(self.path(above)), self.driver):
                if part.startswith("pod") and len(part) > 3:
                    yield part.removeprefix("pod"), (*above, part)

    # -- removing ---------------------------------------------------------------------------------------------------
    async def remove(self, uid: str, back: Callable[[], bool]) -> str:
        """Kill what still runs in the pod's cgroups and remove them in every hierarchy. '' or what is left.

        `back`: whether the pod has come back, which may be while this waits. From then on it is left alone.
        """
        left: list[str] = []
        async with self._turn(uid):
            for tier in TIERS.values():
                name = join((*self._top, *tier), f"pod{uid}")
                left += await self._remove(name, back)
        return f"still in use: {', '.join(left[:3])}" if left else ""

    async def _remove(self, name: CgroupName, back: Callable[[], bool]) -> list[str]:
        path = self.path(name)
        if not self._tree.anywhere(path):
            return []
        for _ in range(_KILL_ROUNDS):
            if back() or not self._tree.kill(path):
                break
            await asyncio.sleep(_KILL_PAUSE)
        if back():
            return []
        if self._slices is not None:
            await self._slices.stop(name)
        return self._tree.remove(path)

    def busy(self, uid: str) -> bool:
        """Whether processes are in the pod's cgroups."""
        return any(self._tree.processes(self.path(name)) for name in self.present().get(uid, []))
