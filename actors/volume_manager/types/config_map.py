"""configMap: a file for each key of a ConfigMap, on disk."""

from __future__ import annotations

from typing import ClassVar, Final

from actors.shared.kube.volumes import ConfigMapVolumeSource, SecretProjection, Volume, VolumeProjection

from .api_files import ApiFiles, file_mode
from .base import Plan, PodContext, VolumeType

PLUGIN: Final = "kubernetes.io/configmap"


class ConfigMapFiles(ApiFiles, frozen=True, kw_only=True):
    plugin: ClassVar[str] = PLUGIN


def _plan(volume: Volume, context: PodContext) -> Plan:
    source = volume.configMap or ConfigMapVolumeSource()
    whole = SecretProjection(name=source.name, items=source.items, optional=source.optional)
    return ConfigMapFiles(
        volume=volume.name,
        path=context.path(PLUGIN, volume.name),
        group=context.fs_group,
        sources=[VolumeProjection(configMap=whole)],
        mode=file_mode(source.defaultMode),
    )


TYPE: Final = VolumeType(source="configMap", plan=_plan, needs_api="a ConfigMap")
