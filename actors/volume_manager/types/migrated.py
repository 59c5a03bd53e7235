"""In-tree volumes of clouds in a pod's spec, mounted by their CSI drivers. The lookup of claims translates their
PersistentVolumes.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Final

from actors.shared.kube.volumes import Volume
from actors.volume_manager.csi.migration import TRANSLATIONS, MigrationError, migrated_inline

from .base import Plan, PodContext, RejectedVolume, VolumeType
from .csi import mounter, persistent_volume

_DIRECTORY: Final = re.compile(r"[^./\0][^/\0]{0,254}\Z")


def _plan(field: str, volume: Volume, context: PodContext) -> Plan:
    try:
        persistent = migrated_inline(volume, field, context.pod.metadata.namespace)
    except MigrationError as error:
        text = f"failed to translate in-tree inline volume to CSI: {error}"
        return RejectedVolume(volume.name, f"volume {volume.name!r}: source {field}: {text}")
    directory = persistent.metadata.name.replace("/", "~")
    if not _DIRECTORY.match(directory):
        return RejectedVolume(volume.name, f"volume {volume.name!r}: source {field}: {directory[:80]!r} is no name")
    source = persistent_volume(directory, persistent)
    return mounter(volume.name, source, context, read_only=source.read_only)


def _planner(field: str) -> Callable[[Volume, PodContext], Plan]:
    return partial(_plan, field)


TYPES: Final = tuple(
    VolumeType(source=field, plan=_planner(field), needs_api=f"the CSI driver {translation.driver}")
    for field, translation in TRANSLATIONS.items()
)
