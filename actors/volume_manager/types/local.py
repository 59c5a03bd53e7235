"""local: a directory or device of this node that a PersistentVolume names."""

from __future__ import annotations

import os
import re
from typing import ClassVar, Final

from actors.shared.kube.persistent_volumes import LocalVolumeSource
from actors.shared.kube.pod import Pod
from actors.shared.linux.directories import make_path
from actors.volume_manager.failure_texts import MAP_BLOCK, MOUNT_DEVICE, NEW_MOUNTER, MountError
from actors.volume_manager.host.device_links import link_device
from actors.volume_manager.host.directories import DIRECTORY_MODE
from actors.volume_manager.host.local_volumes import DEVICE
from actors.volume_manager.host.unmounts import is_mounted, mounts_below
from actors.volume_manager.persistent_volumes import first_mount
from actors.volume_manager.persistent_volumes.volume_claims import (
    ClaimedVolume,
    VolumeClaimError,
    checked_name,
    checked_path,
    mount_options,
)
from actors.volume_manager.tools.local_devices import PLUGIN_DIR
from actors.volume_manager.tools.system_calls import MOUNT_SECONDS, CallFailed
from actors.volume_manager.tools.volume_tools import VolumeTools
from actors.volume_manager.volume_paths import device_link
from supervision.errors import error_text

from .base import Mounter, Plan, PodContext, VolumeType
from .host_path import CHECK

PLUGIN: Final = "kubernetes.io/local-volume"
_FS_TYPE: Final = re.compile(r"[A-Za-z0-9_-]*\Z")
_KIND: Final = "actors.volume_manager.host.local_volumes:kind_of"
_BIND: Final = "actors.volume_manager.host.local_volumes:bind_volume"
_UNMOUNT: Final = "actors.volume_manager.host.unmounts:unmount_all"


class Local(Mounter, frozen=True, kw_only=True):
    """A directory, or the file system on a device, bound to `path`."""

    plugin: ClassVar[str] = PLUGIN
    group: int | None = None
    """fsGroup, applied at the first mount on this node; None: owners are not changed."""
    on_root_mismatch: bool = False
    name: str
    """The name of the PersistentVolume."""
    pod_dir: str
    source: str
    fs_type: str = ""
    """The file system type of a device; '': the file system on the device, or ext4."""
    options: list[str] = []

    async def set_up(self, pod: Pod, tools: VolumeTools) -> str | MountError:
        if first_mount.is_noted(self.pod_dir, self.name) and is_mounted(self.path):
            return ""
        try:
            kind = await tools.calls.call(self.source, _KIND, {"path": self.source})
            if not kind:
                return MountError("only directory and block device are supported", NEW_MOUNTER)
        except CallFailed as error:
            return MountError(str(error), NEW_MOUNTER)
        try:
            make_path(self.path, DIRECTORY_MODE)  # from now on this pod uses the volume
            if problem := await self._mount(pod, kind, tools):
                return problem
            first_mount.note_mounted(self.pod_dir, self.name)
        except OSError as error:
            return error_text(error)
        return ""

    async def _mount(self, pod: Pod, kind: str, tools: VolumeTools) -> str | MountError:
        """Raises OSError."""
        source = self.source
        if kind == DEVICE:
            if error := await tools.local_devices.mount(self.name, source, self.fs_type, self.options):
                return MountError(error, MOUNT_DEVICE)
            source = tools.local_devices.path(self.name)
        arguments = {"source": source, "target": self.path, "options": self.options, "seconds": MOUNT_SECONDS - 2.0}
        if error := await tools.calls.run(self.path, _BIND, arguments, str):
            return error
        if self.group is None or first_mount.is_noted(self.pod_dir, self.name):
            return ""
        return await self._set_ownership(pod, self.group, tools)

    async def _set_ownership(self, pod: Pod, group: int, tools: VolumeTools) -> str:
        """Raises OSError."""
        if not first_mount.is_mounted(os.path.dirname(self.pod_dir), self.name):
            return await tools.fs_group.apply(pod, self.path, group, self.on_root_mismatch)
        try:  # other pods use it: its owners stay, with an event if the group differs
            await tools.fs_group.compare(pod, self.name, self.path, group)
        except CallFailed as error:
            return f"failed to check fsGroup for {self.path} ({error})"
        return ""


class LocalDevice(Mounter, frozen=True, kw_only=True):
    """volumeMode Block. Containers get the device by a link in the pod's directory, as with the kubelet."""

    plugin: ClassVar[str] = PLUGIN
    target: str

    @property
    def is_device(self) -> bool:
        return True

    async def set_up(self, pod: Pod, tools: VolumeTools) -> str | MountError:
        if error := await tools.calls.run(self.target, CHECK, {"path": self.target, "type": "BlockDevice"}, str):
            return MountError(error, MAP_BLOCK)
        try:
            link_device(self.path, self.target)
        except OSError as failure:
            return MountError(error_text(failure), MAP_BLOCK)
        return ""


def _plan_claim(claimed: ClaimedVolume, context: PodContext) -> Plan:
    source = claimed.persistent.spec.local or LocalVolumeSource(path="")
    path = checked_path(claimed, source.path)
    if claimed.is_block:
        link = device_link(context.pod_dir, PLUGIN_DIR, checked_name(claimed))
        return LocalDevice(volume=claimed.volume, path=link, target=path)
    if not _FS_TYPE.match(source.fsType):
        raise VolumeClaimError(f"PV {claimed.name}: fsType {source.fsType!r} is not the name of a file system")
    return Local(
        volume=claimed.volume,
        path=context.path(PLUGIN, checked_name(claimed)),
        source=path,
        fs_type=source.fsType,
        options=sorted({*mount_options(claimed.persistent), *(["ro"] if claimed.read_only else [])}),
        group=None if claimed.read_only else context.fs_group,
        on_root_mismatch=context.on_root_mismatch,
        name=checked_name(claimed),
        pod_dir=context.pod_dir,
    )


async def _tear_down(pod_dir: str, tools: VolumeTools) -> str:
    points = mounts_below(f"{pod_dir}/volumes/{PLUGIN_DIR}")
    error = await tools.calls.run(pod_dir, _UNMOUNT, {"points": points, "lazy": False}) if points else ""
    if not error:
        await tools.local_devices.release(pod_dir)
    return error


TYPE: Final = VolumeType(
    source="local",
    plan_claim=_plan_claim,
    has_devices=True,
    directories=lambda pod_dir, tools: (PLUGIN_DIR,),
    tear_down=_tear_down,
)
