"""local: a directory or device of this node that a PersistentVolume names."""

from __future__ import annotations

import os
from typing import ClassVar, Final

from actors.shared.kube.pod import Pod
from actors.shared.kube.volumes import LocalVolumeSource
from actors.volume_manager.host.links import link_device
from actors.volume_manager.layout import device_link
from actors.volume_manager.persistent_volumes import first_mount
from actors.volume_manager.persistent_volumes.claims import ClaimedVolume, checked_name, checked_path
from actors.volume_manager.tools.disposable_calls import CallFailed
from actors.volume_manager.tools.tools import VolumeTools

from .base import Mounter, Plan, PodContext, VolumeType
from .host_path import CHECK

_PLUGIN_DIR: Final = "kubernetes.io~local-volume"


class Local(Mounter, frozen=True, kw_only=True):
    plugin: ClassVar[str] = "kubernetes.io/local-volume"
    follows_link: ClassVar[bool] = True
    group: int | None = None
    """fsGroup, applied at the first mount on this node; None: owners stay as they are."""
    on_root_mismatch: bool = False
    name: str
    """Of the PersistentVolume."""
    pod_dir: str

    async def set_up(self, pod: Pod, tools: VolumeTools) -> str:
        error = await tools.calls.run(self.path, CHECK, {"path": self.path, "type": "Directory"}, str)
        if error or first_mount.is_noted(self.pod_dir, self.name):
            return error
        try:
            if self.group is not None and (error := await self._own(pod, self.group, tools)):
                return error
            first_mount.note_mounted(self.pod_dir, self.name)
        except OSError as problem:
            return str(problem)
        return ""

    async def _own(self, pod: Pod, group: int, tools: VolumeTools) -> str:
        """Raises OSError."""
        if not first_mount.is_mounted(os.path.dirname(self.pod_dir), self.name):
            return await tools.fs_group.apply(pod, self.path, group, self.on_root_mismatch)
        try:  # other pods have it: its owners stay, and users are told if these are not the pod's
            await tools.fs_group.compare(pod, self.name, self.path, group)
        except CallFailed as error:
            return f"failed to check fsGroup for {self.path} ({error})"
        return ""


class LocalDevice(Mounter, frozen=True, kw_only=True):
    """volumeMode Block. Containers have the device by a link in the pod's directory, as with the kubelet."""

    plugin: ClassVar[str] = Local.plugin
    target: str

    async def set_up(self, pod: Pod, tools: VolumeTools) -> str:
        if error := await tools.calls.run(self.target, CHECK, {"path": self.target, "type": "BlockDevice"}, str):
            return error
        try:
            link_device(self.path, self.target)
        except OSError as error:
            return str(error)
        return ""


def _plan_claim(claimed: ClaimedVolume, context: PodContext) -> Plan:
    source = claimed.persistent.spec.local or LocalVolumeSource(path="")
    path = checked_path(claimed, source.path)
    if claimed.is_block:
        link = device_link(context.pod_dir, _PLUGIN_DIR, checked_name(claimed))
        return LocalDevice(volume=claimed.volume, path=link, target=path)
    return Local(
        volume=claimed.volume,
        path=path,
        group=None if claimed.read_only else context.fs_group,
        on_root_mismatch=context.on_root_mismatch,
        name=checked_name(claimed),
        pod_dir=context.pod_dir,
    )


TYPE: Final = VolumeType(source="local", plan_claim=_plan_claim, has_devices=True)
