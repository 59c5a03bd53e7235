"""The cgroups of pods: kubepods, its QoS tiers, one for each pod.

With systemd's driver a slice is started first. The limits are also written to the files, because systemd rounds some
values and omits others.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from typing import Final
from weakref import WeakValueDictionary

import msgspec

from actors.shared.linux.cgroup_limits import UNLIMITED, CgroupLimits
from actors.shared.linux.cgroup_names import CgroupName, join, parse_root, path_of, unescaped
from actors.shared.linux.cgroup_tree import CgroupTree
from actors.shared.linux.system_bus import Call

from .pod_limits import BEST_EFFORT, BURSTABLE, GUARANTEED
from .systemd_slices import Slices

PODS: Final = "kubepods"
TIERS: Final = {GUARANTEED: (), BURSTABLE: ("burstable",), BEST_EFFORT: ("besteffort",)}
_KILL_ROUNDS: Final = 20
_KILL_PAUSE: Final = 0.05


class PodCgroups:
    """Creates, changes and removes them. Methods raise CgroupError and SliceError; all are idempotent."""

    def __init__(
        self,
        tree: CgroupTree,
        root: str,
        call: Call,
        driver: str = "cgroupfs",
        measured: Callable[[str, float], None] = lambda operation, seconds: None,
    ) -> None:
        """`root`: cgroupRoot; `call` calls systemd. `measured` gets the duration of each operation."""
        self._tree, self._root, self._call, self._measured = tree, root, call, measured
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self.use(driver)

    def use(self, driver: str) -> None:
        """Create cgroups with this driver from now on: cgroupfs or systemd."""
        self.driver = driver
        self._slices = Slices(self._tree.version, self._call) if driver == "systemd" else None
        self._top = join(parse_root(self._root, driver), PODS)

    @property
    def version(self) -> int:
        return self._tree.version

    @property
    def top(self) -> str:
        """The path of kubepods."""
        return self.path(self._top)

    @property
    def top_names(self) -> CgroupName:
        """The name of kubepods, the same for both drivers."""
        return self._top

    def path(self, name: CgroupName) -> str:
        """Below each hierarchy's mount point, and in the sandbox's config."""
        return path_of(name, self.driver)

    def name(self, uid: str, qos: str) -> CgroupName:
        return join((*self._top, *TIERS[qos]), f"pod{uid}")

    # -- the tree ---------------------------------------------------------------------------------------------------
    async def ensure_tiers(self, limits: CgroupLimits) -> None:
        """Create kubepods with its limits, and the tiers below it. `set_tier` sets the tiers' own limits."""
        await self._ensure(self._top, limits)
        for tier in TIERS.values():
            if tier:
                await self._ensure((*self._top, *tier), CgroupLimits())

    async def set_tier(self, qos: str, limits: CgroupLimits) -> None:
        """Set a tier's limits. Memory is not limited below its use: the kernel would refuse that (v1) or kill (v2)."""
        name = (*self._top, *TIERS[qos])
        most = limits.memory_bytes
        if most is not None and most != UNLIMITED:
            limits = msgspec.structs.replace(limits, memory_bytes=max(most, self._in_use(name)))
        started_at = time.monotonic()
        if self._slices is not None:
            await self._slices.update(name, limits)
        self._tree.apply(self.path(name), limits)
        self._measured("update", time.monotonic() - started_at)

    def _in_use(self, name: CgroupName) -> int:
        """Bytes of memory."""
        file = "memory.current" if self.version == 2 else "memory.usage_in_bytes"
        try:
            return int(self._tree.read(self.path(name), "memory", file))
        except (OSError, ValueError):
            return 0

    async def ensure_pod(self, uid: str, qos: str, limits: CgroupLimits) -> str:
        """Create the pod's cgroup with its limits. Returns its path."""
        name = self.name(uid, qos)
        async with self._lock(uid):
            await self._ensure(name, limits)
        return self.path(name)

    def _lock(self, uid: str) -> asyncio.Lock:
        """The lock of the pod's cgroup. A returning pod's cgroup is created after the removal of the old one, not
        during it."""
        return self._locks.setdefault(uid, asyncio.Lock())

    async def _ensure(self, name: CgroupName, limits: CgroupLimits) -> None:
        path, started_at = self.path(name), time.monotonic()
        if self._slices is not None:
            await self._slices.start(name, limits)
        self._tree.create(path)
        self._tree.apply(path, limits)
        self._measured("create", time.monotonic() - started_at)

    # -- existing cgroups -------------------------------------------------------------------------------------------
    def present(self) -> dict[str, list[CgroupName]]:
        """The cgroups of pods in any hierarchy, by UID: usually one for each."""
        found: dict[str, list[CgroupName]] = {}
        for uid, name in self._find_cgroups():
            found.setdefault(uid, []).append(name)
        return found

    def _find_cgroups(self) -> Iterator[tuple[str, CgroupName]]:
        for tier in TIERS.values():
            above = (*self._top, *tier)
            for part in unescaped(self._tree.children(self.path(above)), self.driver):
                if part.startswith("pod") and len(part) > 3:
                    yield part.removeprefix("pod"), (*above, part)

    # -- removing ---------------------------------------------------------------------------------------------------
    async def remove(self, uid: str, back: Callable[[], bool]) -> str:
        """Kill the processes in the pod's cgroups and remove the cgroups in every hierarchy. Returns what is left; ''
        for nothing.

        `back`: whether the pod has returned meanwhile; then its cgroup stays.
        """
        left: list[str] = []
        started_at = time.monotonic()
        async with self._lock(uid):
            for tier in TIERS.values():
                name = join((*self._top, *tier), f"pod{uid}")
                left += await self._remove(name, back)
        self._measured("destroy", time.monotonic() - started_at)
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
