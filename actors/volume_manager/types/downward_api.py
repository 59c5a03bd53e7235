"""downwardAPI: files from the pod's own fields."""

from __future__ import annotations

from typing import ClassVar, Final

from actors.shared.kube.pod import Pod
from actors.shared.kube.quantity import QuantityError
from actors.shared.kube.volumes import DownwardAPIVolumeSource, Volume
from actors.volume_manager.files import atomic, downward_fields
from actors.volume_manager.host.directories import make_directory
from actors.volume_manager.tools.tools import VolumeTools

from .base import Mounter, Plan, PodContext, VolumeType

PLUGIN: Final = "kubernetes.io/downward-api"
_MODE: Final = 0o777


class DownwardApiFiles(Mounter, frozen=True, kw_only=True):
    plugin: ClassVar[str] = PLUGIN
    group: int | None = None
    source: DownwardAPIVolumeSource

    async def set_up(self, pod: Pod, tools: VolumeTools) -> str:
        try:
            files = downward_fields.files(pod, self.source, await tools.allocatable.resources())
            make_directory(self.path, _MODE, self.group)
            atomic.write(self.path, files, f"..{tools.stamp()}", self.group)
        except (downward_fields.DownwardError, QuantityError, OSError) as error:
            return str(error)
        return ""


def _plan(volume: Volume, context: PodContext) -> Plan:
    return DownwardApiFiles(
        volume=volume.name,
        path=context.path(PLUGIN, volume.name),
        group=context.fs_group,
        source=volume.downwardAPI or DownwardAPIVolumeSource(),
    )


TYPE: Final = VolumeType(source="downwardAPI", plan=_plan)
