"""Unmounts everything below a pod's directory, then removes its files."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from typing import Any, Final

from actors.shared.config.agent import Agent
from actors.shared.linux import mountinfo
from actors.shared.linux.mountinfo import Mount
from actors.shared.linux.presence import is_there
from actors.shared.linux.removal import have_few_files
from supervision.actor import Actor, DisposableError, DisposableTimeout
from supervision.errors import error_text

from .host.mapped_devices import mapped
from .host.unmounts import remove_volumes
from .tools.volume_tools import VolumeTools
from .types.base import VolumeType
from .types.registry import TYPES
from .volume_paths import DEVICES, VOLUME_DIRECTORIES, real_path

UNMOUNT_SECONDS: Final = 15.0
REMOVE_SECONDS: Final = 110.0
REMOVE_VOLUMES: Final = "actors.volume_manager.host.unmounts:remove_volumes"
REMOVE_POD_DIR: Final = "actors.volume_manager.host.unmounts:remove_pod_dir"
_WITH_OWN: Final = tuple(found for found in TYPES if found.tear_down is not None)
"""Types that unmount their volumes themselves."""
_UNMOUNT: Final = "actors.volume_manager.host.unmounts:unmount_all"
_UNMAP: Final = "actors.volume_manager.host.mapped_devices:unmap"


class Teardown:
    """Unmounts and removes volumes by the mount table and the disk alone, without the pod's spec."""

    def __init__(self, actor: Actor, agent: Agent, tools: VolumeTools) -> None:
        self._actor, self._agent, self._tools = actor, agent, tools
        self._pods_dir = real_path(agent.pods_dir)
        self._reader_lock = asyncio.Lock()
        """Limits the concurrent readers of the mount table, so that other work continues while a thousand pods end at
        once."""

    async def volumes(self, uid: str) -> str:
        """Unmount and remove the pod's volumes. '' or the error's text."""
        try:
            return await self._volumes(self._agent.pod_dir(uid))
        except OSError as error:  # a directory or the mount table that cannot be read
            return error_text(error)

    async def _volumes(self, pod_dir: str) -> str:
        """As `volumes`. Raises OSError."""
        mounts = await self._mounts(pod_dir)
        if not mounts and not _has_volumes(pod_dir):
            return ""
        simple = _cannot_hang(mounts) and not any(self._has_some(pod_dir, found) for found in _WITH_OWN)
        if simple and not await self._remove(pod_dir, [mount.point for mount in mounts]):
            return ""
        error = await self._unmount_all(pod_dir)
        if error or not _has_volumes(pod_dir):
            return error
        return await self._run(REMOVE_VOLUMES, {"pod_dir": pod_dir}, REMOVE_SECONDS)

    async def _remove(self, pod_dir: str, points: list[str]) -> str:
        """Unmount volumes in memory, and remove the files on the disk."""
        if have_few_files(f"{pod_dir}/{name}" for name in VOLUME_DIRECTORIES):
            try:
                remove_volumes(pod_dir, points)
            except OSError as error:
                return error_text(error)
            return ""
        return await self._run(REMOVE_VOLUMES, {"pod_dir": pod_dir, "points": points}, REMOVE_SECONDS)

    async def pod_dir(self, uid: str) -> str:
        """Unmount the volumes of an orphaned pod, and remove its whole directory. '' or the error's text."""
        pod_dir = self._agent.pod_dir(uid)
        try:
            error = await self._unmount_all(pod_dir)
        except OSError as failure:
            error = error_text(failure)
        return error or await self._run(REMOVE_POD_DIR, {"pod_dir": pod_dir}, REMOVE_SECONDS)

    async def mounts(self, directory: str, *, without: tuple[str, ...] = ()) -> list[str]:
        """The mount points below the directory, without the pods' directory and paths that contain one of `without`."""
        points = [mount.point for mount in await self._mounts(directory)]
        return [point for point in points if point != self._pods_dir and not any(one in point for one in without)]

    async def _mounts(self, directory: str) -> list[Mount]:
        async with self._reader_lock:
            await asyncio.sleep(0)
            return mountinfo.read_below(real_path(directory))

    async def _unmount_all(self, pod_dir: str) -> str:
        """Unmount bind mounts of subPaths first: they keep the volumes of types with their own teardown busy, as does
        what a kubelet has mapped of their devices."""
        own = (name for found in _WITH_OWN for name in found.directories(pod_dir, self._tools))
        error = await self._unmount(pod_dir, tuple(f"/{name}/" for name in own))
        if not error and (paths := mapped(self._agent.plugins_dir, os.path.basename(pod_dir))):
            error = await self._run(_UNMAP, {"paths": paths}, UNMOUNT_SECONDS)
        for found in _WITH_OWN:
            if not error and found.tear_down is not None:
                error = await found.tear_down(pod_dir, self._tools)
        return error or await self._unmount(pod_dir)

    async def _unmount(self, pod_dir: str, without: tuple[str, ...] = ()) -> str:
        """Unmount. Mounts that are busy or hang are detached: the kernel unmounts them after their last use."""
        error = ""
        for lazy in (False, True):
            points = await self.mounts(pod_dir, without=without)
            if not points:
                return ""
            error = await self._run(_UNMOUNT, {"points": points, "lazy": lazy}, UNMOUNT_SECONDS)
        left = await self.mounts(pod_dir, without=without)
        return f"still mounted: {', '.join(left[:5])}: {error}" if left else ""

    def _has_some(self, pod_dir: str, found: VolumeType) -> bool:
        """Whether the pod has volumes or devices of this type. Raises OSError."""
        names = found.directories(pod_dir, self._tools)
        return any(is_there(f"{pod_dir}/{top}/{name}") for name in names for top in ("volumes", DEVICES))

    async def _run(self, function: str, arguments: dict[str, Any], deadline: float) -> str:
        try:
            await self._actor.disposable(function, arguments, deadline=deadline)
        except DisposableTimeout:
            return f"no result within {deadline:g} s"
        except DisposableError as error:
            return error.text
        return ""


def _cannot_hang(mounts: Sequence[Mount]) -> bool:
    """Whether all mounts are in memory, so that unmounting and removing cannot hang."""
    return all(mount.kind == "tmpfs" for mount in mounts)


def _has_volumes(pod_dir: str) -> bool:
    """Raises OSError."""
    return any(is_there(f"{pod_dir}/{name}") for name in VOLUME_DIRECTORIES)
