"""projected: objects of the API, tokens and fields of the pod in one directory, in memory."""

from __future__ import annotations

from typing import ClassVar, Final

from actors.shared.kube.volumes import ProjectedVolumeSource, Volume

from .api_files import ApiFiles, file_mode
from .base import Plan, PodContext, VolumeType
from .memory_size import smallest

PLUGIN: Final = "kubernetes.io/projected"


class ProjectedFiles(ApiFiles, frozen=True, kw_only=True):
    plugin: ClassVar[str] = PLUGIN


def _plan(volume: Volume, context: PodContext) -> Plan:
    source = volume.projected or ProjectedVolumeSource()
    return ProjectedFiles(
        volume=volume.name,
        path=context.path(PLUGIN, volume.name),
        group=context.fs_group,
        sources=source.sources,
        mode=file_mode(source.defaultMode),
        size=smallest(context),
    )


TYPE: Final = VolumeType(source="projected", plan=_plan, needs_api="objects of the API", in_memory=lambda volume: True)
