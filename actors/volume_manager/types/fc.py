"""fc: a Fibre Channel disk, which the switch shows to this node."""

from __future__ import annotations

from typing import ClassVar, Final

from actors.shared.kube.disk_sources import FCVolumeSource
from actors.shared.kube.volumes import Volume
from actors.volume_manager.disks.model import Disk, FcDisk, checked, fc_name
from actors.volume_manager.persistent_volumes.volume_claims import (
    ClaimedVolume,
    VolumeClaimError,
    checked_name,
    mount_options,
)
from actors.volume_manager.tools.volume_tools import VolumeTools

from . import staged_disk
from .base import Plan, PodContext, RejectedVolume, VolumeType
from .staged_disk import DiskVolume

PLUGIN: Final = "kubernetes.io/fc"


class FibreChannel(DiskVolume, frozen=True, kw_only=True):
    plugin: ClassVar[str] = PLUGIN


def _plan(volume: Volume, context: PodContext) -> Plan:
    source, name = volume.fc or FCVolumeSource(), volume.name
    try:
        return FibreChannel.of(
            context,
            disk_of(source),
            volume=name,
            name=name,
            fs_type=source.fsType,
            read_only=source.readOnly,
        )
    except ValueError as error:
        return RejectedVolume(name, f"volume {name!r}: fc: {error}")


def _plan_claim(claimed: ClaimedVolume, context: PodContext) -> Plan:
    source, name = claimed.persistent.spec.fc or FCVolumeSource(), checked_name(claimed)
    try:
        return FibreChannel.of(
            context,
            disk_of(source, block=claimed.is_block),
            volume=claimed.volume,
            name=name,
            fs_type=source.fsType,
            read_only=source.readOnly or claimed.read_only,
            options=mount_options(claimed.persistent),
        )
    except ValueError as error:
        raise VolumeClaimError(f"PV {name}: fc: {error}") from None


def disk_of(source: FCVolumeSource, *, block: bool = False) -> Disk:
    """Raises ValueError for a source by which no disk can be found."""
    for field, problem in source.problems():
        raise ValueError(f"{field}: {problem}")
    disk = FcDisk(
        unique=fc_name(source.targetWWNs, source.lun or 0, source.wwids),
        block=block,
        wwns=source.targetWWNs,
        lun=source.lun or 0,
        wwids=[wwid.replace(" ", "_") for wwid in source.wwids],
    )
    return checked(disk)


async def _tear_down(pod_dir: str, tools: VolumeTools) -> str:
    return await staged_disk.tear_down(pod_dir, PLUGIN, tools)


TYPE: Final = VolumeType(
    source="fc",
    plan=_plan,
    plan_claim=_plan_claim,
    has_devices=True,
    directories=lambda pod_dir, tools: (PLUGIN.replace("/", "~"),),
    tear_down=_tear_down,
)
