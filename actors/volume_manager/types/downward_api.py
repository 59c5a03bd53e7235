"""downwardAPI: files from the pod's own fields, in memory."""

from __future__ import annotations

import os
from typing import ClassVar, Final

from actors.shared.kube.pod import Pod
from actors.shared.kube.quantity import QuantityError
from actors.shared.kube.volumes import DownwardAPIVolumeSource, Volume
from actors.volume_manager.files import atomic, downward_fields, mount_points
from actors.volume_manager.tools.volume_tools import VolumeTools
from supervision.errors import error_text

from .base import Mounter, Plan, PodContext, VolumeType
from .memory_size import smallest

PLUGIN: Final = "kubernetes.io/downward-api"


class DownwardApiFiles(Mounter, frozen=True, kw_only=True):
    plugin: ClassVar[str] = PLUGIN
    group: int | None = None
    source: DownwardAPIVolumeSource
    size: int
    """Bytes of memory; 0: no limit."""

    async def set_up(self, pod: Pod, tools: VolumeTools) -> str:
        try:
            files = downward_fields.files(pod, self.source, await tools.allocatable.resources())
        except (downward_fields.DownwardError, QuantityError) as error:
            return str(error)
        # files that an older version wrote to the disk stay there: the pod's containers use that directory
        if not self._has_files() and (problem := tools.memory.mount(self.path, self.size, self.group)):
            return problem
        try:
            points = mount_points.nested(pod, self.volume)
            await atomic.write(self.path, files, f"..{tools.stamp()}", self.group, points)
        except OSError as error:
            return error_text(error)
        return ""

    def _has_files(self) -> bool:
        return os.path.isdir(f"{self.path}/{atomic.DATA}")


def _plan(volume: Volume, context: PodContext) -> Plan:
    return DownwardApiFiles(
        volume=volume.name,
        path=context.path(PLUGIN, volume.name),
        group=context.fs_group,
        source=volume.downwardAPI or DownwardAPIVolumeSource(),
        size=smallest(context),
    )


TYPE: Final = VolumeType(source="downwardAPI", plan=_plan, in_memory=lambda volume: True)
