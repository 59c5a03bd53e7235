"""Network disks: attached and mounted once for all pods, unmounted and detached after the last one."""

from __future__ import annotations

import asyncio
import os
from typing import Any, Final

import msgspec

from actors.shared.keyed_locks import KeyedLocks
from actors.shared.linux import mountinfo
from actors.volume_manager.disks.attachment import node_call, not_attached
from actors.volume_manager.disks.model import FC, ISCSI, Disk, IscsiDisk
from actors.volume_manager.disks.records import KUBELETS, DiskRecords
from actors.volume_manager.disks.uses import DiskUses
from actors.volume_manager.failure_texts import (
    MOUNT_DEVICE,
    WAIT_FOR_ATTACH,
    WAIT_FOR_DEVICE,
    MountError,
)
from actors.volume_manager.host.unmounts import is_mounted
from actors.volume_manager.volume_paths import real_path
from supervision.actor import Actor
from supervision.errors import error_text
from supervision.repeated_warnings import RepeatedWarnings

from .delayed_retry import DelayedRetry
from .in_use_report import InUseReport
from .system_calls import CallFailed, DisposableCalls
from .volume_objects import VolumeObjects

ATTEMPT_SECONDS: Final = 120.0
"""After these no further attempt at missing paths of a multipath device begins."""
ATTACH_SECONDS: Final = 600.0
"""For an attempt: discovery and login take some two minutes each when nobody answers."""
FORMAT_SECONDS: Final = 300.0
"""For each of blkid, mkfs, fsck and mount; a large disk takes long."""
UNMOUNT_SECONDS: Final = 180.0
"""The kernel gives up a disk that does not answer after two minutes."""
DETACH_SECONDS: Final = 600.0
RETRY_SECONDS: Final = 10.0
_HOST: Final = "actors.volume_manager.host"
_ATTACH: Final = {ISCSI: f"{_HOST}.iscsi_attach:attach", FC: f"{_HOST}.fc_disks:attach"}
_DETACH: Final = {ISCSI: f"{_HOST}.iscsi_detach:detach", FC: f"{_HOST}.fc_disks:detach"}
_MOUNT: Final = f"{_HOST}.disk_format:mount_device"
_UNMOUNT: Final = f"{_HOST}.unmounts:unmount_all"


class StagedDisks:
    """What is attached, and for whom, is on the disk of the node alone: `records` and `uses`. So a later incarnation
    knows the same."""

    def __init__(
        self,
        actor: Actor,
        calls: DisposableCalls,
        report: InUseReport,
        pods_dir: str,
        plugins_dir: str,
    ) -> None:
        self._actor, self._calls, self._report, self._pods_dir = actor, calls, report, pods_dir
        self.uses, self.records = DiskUses(pods_dir), DiskRecords(plugins_dir)
        self._locks, self._warnings = KeyedLocks(), RepeatedWarnings(actor.log)
        self._retry = DelayedRetry(actor, RETRY_SECONDS, self.release)
        report.add(self.in_use)

    def in_use(self) -> set[str]:
        """Unique names of the disks that pods use, and of those that are not detached yet. Raises OSError."""
        found = {use.unique for use in self.uses.all()} | {disk.unique for disk in self.records.all()}
        return found - {""}

    # -- attaching ----------------------------------------------------------------------------------------------------
    async def want(self, pod_dir: str, volume: str, disk: Disk, api: VolumeObjects, node: str) -> MountError | None:
        """Note that the pod uses the disk, and wait for the attach controller. `node`: the name of this node; '': no
        controller attaches volumes. Raises OSError."""
        self.uses.note(pod_dir, kind_of(disk), volume, disk)
        if not node or self.is_mounted(disk):
            return None
        self._report.tell()
        return not_attached(await api.call(node_call(node)), disk.unique)

    def is_mounted(self, disk: Disk) -> bool:
        return is_mounted(self.records.directory(disk))

    async def attach(self, disk: Disk, chap: dict[str, dict[str, str]]) -> str | MountError:
        """The path of the device. Raises OSError."""
        async with self._locks.hold(disk.place):
            return await self._attach(disk, chap)

    async def mount(
        self, disk: Disk, chap: dict[str, dict[str, str]], fs_type: str, options: list[str]
    ) -> str | MountError:
        """Attach the disk, format it if it is empty, and mount it for all pods, unless it is mounted. '' or the error.
        Raises OSError."""
        async with self._locks.hold(disk.place):
            if self.is_mounted(disk):
                return ""
            device = await self._attach(disk, chap)
            if isinstance(device, MountError):
                return device
            arguments = {"device": device, "target": self.records.directory(disk), "kind": fs_type, "options": options}
            error = await self._calls.run(
                disk.place, _MOUNT, {**arguments, "seconds": FORMAT_SECONDS}, str, deadline=4 * FORMAT_SECONDS
            )
            return MountError(error, MOUNT_DEVICE) if error else ""

    async def _attach(self, disk: Disk, chap: dict[str, dict[str, str]]) -> str | MountError:
        """Raises OSError."""
        self.records.note(disk)
        self.records.note_for_kubelets(disk)
        more: dict[str, Any] = {"chap": chap, "seconds": ATTEMPT_SECONDS} if isinstance(disk, IscsiDisk) else {}
        async with self._locks.hold(disk.shared):
            try:
                device, error = await self._calls.call(
                    disk.place, _ATTACH[kind_of(disk)], {"disk": _plain(disk), **more}, deadline=ATTACH_SECONDS
                )
            except CallFailed as failure:
                device, error = "", str(failure)
        return MountError(error, WAIT_FOR_DEVICE if disk.block else WAIT_FOR_ATTACH) if error else str(device)

    # -- detaching ----------------------------------------------------------------------------------------------------
    def release_soon(self) -> None:
        """Detach the disks that no pod uses; the pod that has ended does not wait for that."""
        self._actor.start_task(self.release(), "disks that no pod uses")

    async def release(self) -> None:
        """Detach the disks that no pod uses. What fails is tried again."""
        try:
            unused = [disk for disk in self.records.all() if not self._is_used(disk)]
        except OSError as error:
            self._warnings.warn("", f"disks that no pod uses are looked for later: {error_text(error)}")
            self._retry.schedule()
            return
        self._warnings.resolved("")
        await asyncio.gather(*(self._release(disk) for disk in unused))
        self._report.tell()

    async def _release(self, disk: Disk) -> None:
        try:
            async with self._locks.hold(disk.place):
                is_done = not self.records.has(disk) or self._is_used(disk)
                error = "" if is_done else await self._detach(disk)
        except OSError as failure:
            error = error_text(failure)
        if error:
            self._warnings.warn(disk.place, f"disk {disk.place} stays attached: {error}")
            self._retry.schedule()
        else:
            self._warnings.resolved(disk.place)

    def _is_used(self, disk: Disk) -> bool:
        """Whether any pod uses the disk, one that a kubelet has started included. Raises OSError if that cannot be
        seen."""
        if any(use.place == disk.place for use in self.uses.all()):
            return True
        directory = real_path(self.records.directory(disk))
        if disk.block:
            return os.path.isdir(directory) and any(name != KUBELETS for name in os.listdir(directory))
        devices = {mount.device for mount in mountinfo.at(directory)}
        below = mountinfo.read_below(real_path(self._pods_dir)) if devices else []
        return any(mount.device in devices for mount in below)

    async def _detach(self, disk: Disk) -> str:
        """'' or the error. Raises OSError."""
        directory = self.records.directory(disk)
        if is_mounted(directory):
            error = await self._calls.run(
                disk.place, _UNMOUNT, {"points": [real_path(directory)], "lazy": False}, deadline=UNMOUNT_SECONDS
            )
            if error:
                return error
        disk = self.records.with_kubelets(disk)
        async with self._locks.hold(disk.shared):
            more = {"portals": self._unshared_portals(disk)} if isinstance(disk, IscsiDisk) else {}
            error = await self._calls.run(
                disk.place, _DETACH[kind_of(disk)], {"disk": _plain(disk), **more}, str, deadline=DETACH_SECONDS
            )
            if not error:
                self.records.forget(disk)
        return error

    def _unshared_portals(self, disk: IscsiDisk) -> list[str]:
        """The portals by which no other disk has a session of the same target and interface. Raises OSError."""
        others = [other for other in self.records.all() if isinstance(other, IscsiDisk) and other.place != disk.place]
        key = (disk.iqn, disk.interface)
        shared = {portal for other in others if (other.iqn, other.interface) == key for portal in other.portals}
        return [portal for portal in disk.portals if portal not in shared]


def kind_of(disk: Disk) -> str:
    """The last word of the plugin's name."""
    return ISCSI if isinstance(disk, IscsiDisk) else FC


def _plain(disk: Disk) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.to_builtins(disk)
    return found
