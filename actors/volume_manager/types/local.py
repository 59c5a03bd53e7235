"""local: a directory of this node that a PersistentVolume names."""

from __future__ import annotations

import os
from typing import ClassVar, Final

from actors.shared.kube.pod import Pod
from actors.shared.kube.volumes import LocalVolumeSource
from actors.volume_manager.persistent_volumes import first_mount
from actors.volume_manager.persistent_volumes.claims import ClaimedVolume, checked_name, checked_path
from actors.volume_manager.tools.tools import VolumeTools

from .base import Mounter, Plan, PodContext, VolumeType
from .host_path import CHECK


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
        if error or self.group is None:
            return error
        if first_mount.is_mounted(os.path.dirname(self.pod_dir), self.name):
            return ""
        error = await tools.fs_group.apply(pod, self.path, self.group, self.on_root_mismatch)
        if not error:
            first_mount.note_mounted(self.pod_dir, self.name)
        return error


def _plan_claim(claimed: ClaimedVolume, context: PodContext) -> Plan:
    source = claimed.persistent.spec.local or LocalVolumeSource(path="")
    return Local(
        volume=claimed.volume,
        path=checked_path(claimed, source.path),
        group=None if claimed.read_only else context.fs_group,
        on_root_mismatch=context.on_root_mismatch,
        name=checked_name(claimed),
        pod_dir=context.pod_dir,
    )


TYPE: Final = VolumeType(source="local", plan_claim=_plan_claim)
