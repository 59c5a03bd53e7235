"""File systems on devices of this node: mounted once for all pods, unmounted after the last one."""

from __future__ import annotations

import os
from typing import Any, Final

from actors.shared.keyed_locks import KeyedLocks
from actors.shared.linux.directories import names_in
from actors.shared.linux.presence import is_there
from actors.volume_manager.host.unmounts import is_mounted
from supervision.actor import Actor
from supervision.errors import error_text

from .delayed_retry import DelayedRetry
from .system_calls import DisposableCalls

PLUGIN_DIR: Final = "kubernetes.io~local-volume"
FORMAT_SECONDS: Final = 300.0
"""Seconds for each of blkid, mkfs, fsck and mount; a large disk takes long."""
_DEADLINE: Final = 4 * FORMAT_SECONDS
RETRY_SECONDS: Final = 60.0
_MOUNT: Final = "actors.volume_manager.host.disk_format:mount_device"
_UNMOUNT: Final = "actors.volume_manager.host.unmounts:unmount_all"


class LocalDevices:
    """Mounts devices. A pod uses a volume as long as it has the volume's directory, which is made before the device is
    mounted. So no state is kept: a later incarnation finds the same directories and mounts.
    """

    def __init__(self, actor: Actor, calls: DisposableCalls, pods_dir: str, plugins_dir: str) -> None:
        self._actor, self._calls, self._pods_dir = actor, calls, pods_dir
        self._mounts_dir = f"{plugins_dir}/kubernetes.io/local-volume/mounts"
        self._locks = KeyedLocks()
        self._retry = DelayedRetry(actor, RETRY_SECONDS, self.release)

    def path(self, name: str) -> str:
        """The path at which the device of this PersistentVolume is mounted."""
        return f"{self._mounts_dir}/{name}"

    async def mount(self, name: str, device: str, kind: str, options: list[str]) -> str:
        """`kind`: of the file system, '' for any. '' or the error's text.

        The pod has the volume's directory already."""
        arguments: dict[str, Any] = {"device": device, "target": self.path(name), "kind": kind, "options": options}
        async with self._locks.hold(name):
            return await self._calls.run(
                device, _MOUNT, {**arguments, "seconds": FORMAT_SECONDS}, str, deadline=_DEADLINE
            )

    async def release(self, pod_dir: str = "") -> None:
        """Unmount the devices that no pod uses; `pod_dir`: the directory of a pod that has ended. A device that cannot
        be unmounted is retried later. The pod waits neither for that nor for a device that another pod's mount formats.
        """
        try:
            for name in names_in(self._mounts_dir, hidden=True):
                if self._is_used(name, pod_dir):
                    continue
                async with self._locks.hold(name):
                    if not self._is_used(name, pod_dir):
                        await self._unmount(name)
        except OSError as problem:
            self._actor.log.warning("local volumes stay mounted: %s", problem)
            self._retry.schedule()

    def _is_used(self, name: str, pod_dir: str) -> bool:
        """Whether any pod uses the volume. Raises OSError if that cannot be seen."""
        others = (uid for uid in names_in(self._pods_dir, hidden=True) if uid != os.path.basename(pod_dir))
        return any(is_there(f"{self._pods_dir}/{uid}/volumes/{PLUGIN_DIR}/{name}") for uid in others)

    async def _unmount(self, name: str) -> None:
        """Raises OSError."""
        path, error = self.path(name), ""
        if is_mounted(path):
            error = await self._calls.run(path, _UNMOUNT, {"points": [path], "lazy": False})
        try:
            if not error:
                os.rmdir(path)
        except OSError as problem:
            error = error_text(problem)
        if error:
            self._actor.log.warning("local volume %s stays mounted at %s: %s", name, path, error)
            self._retry.schedule()
