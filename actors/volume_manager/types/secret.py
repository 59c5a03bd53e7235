"""secret: a file for each key of a Secret, in memory."""

from __future__ import annotations

from typing import ClassVar, Final

from actors.shared.kube.volumes import SecretProjection, SecretVolumeSource, Volume, VolumeProjection

from .api_files import ApiFiles, file_mode
from .base import Plan, PodContext, VolumeType
from .memory_size import smallest

PLUGIN: Final = "kubernetes.io/secret"


class SecretFiles(ApiFiles, frozen=True, kw_only=True):
    plugin: ClassVar[str] = PLUGIN


def _plan(volume: Volume, context: PodContext) -> Plan:
    source = volume.secret or SecretVolumeSource()
    whole = SecretProjection(name=source.secretName, items=source.items, optional=source.optional)
    return SecretFiles(
        volume=volume.name,
        path=context.path(PLUGIN, volume.name),
        group=context.fs_group,
        sources=[VolumeProjection(secret=whole)],
        mode=file_mode(source.defaultMode),
        size=smallest(context),
    )


TYPE: Final = VolumeType(source="secret", plan=_plan, needs_api="a Secret", in_memory=lambda volume: True)
