"""iscsi: a disk of an iSCSI target, to which this node logs in."""

from __future__ import annotations

from typing import ClassVar, Final

from actors.shared.kube.disk_sources import ISCSIVolumeSource
from actors.shared.kube.persistent_volumes import ISCSIPersistentVolumeSource
from actors.shared.kube.volumes import Volume
from actors.volume_manager.disks.chap import ChapWish
from actors.volume_manager.disks.model import Disk, IscsiDisk, checked, iscsi_name, with_port
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

PLUGIN: Final = "kubernetes.io/iscsi"


class Iscsi(DiskVolume, frozen=True, kw_only=True):
    plugin: ClassVar[str] = PLUGIN


def _plan(volume: Volume, context: PodContext) -> Plan:
    source, name = volume.iscsi or ISCSIVolumeSource(), volume.name
    try:
        return Iscsi.of(
            context,
            disk_of(source, name),
            volume=name,
            name=name,
            fs_type=source.fsType,
            read_only=source.readOnly,
            chap=_chap(source, context.pod.metadata.namespace),
        )
    except ValueError as error:
        return RejectedVolume(name, f"volume {name!r}: iscsi: {error}")


def _plan_claim(claimed: ClaimedVolume, context: PodContext) -> Plan:
    source, name = claimed.persistent.spec.iscsi or ISCSIPersistentVolumeSource(), checked_name(claimed)
    try:
        return Iscsi.of(
            context,
            disk_of(source, name, block=claimed.is_block),
            volume=claimed.volume,
            name=name,
            fs_type=source.fsType,
            read_only=source.readOnly or claimed.read_only,
            options=mount_options(claimed.persistent),
            chap=_chap(source, context.pod.metadata.namespace),
        )
    except ValueError as error:
        raise VolumeClaimError(f"PV {name}: iscsi: {error}") from None


def disk_of(source: ISCSIVolumeSource, volume: str, *, block: bool = False) -> Disk:
    """Raises ValueError for a source with which no disk can be attached."""
    for field, problem in source.problems():
        raise ValueError(f"{field}: {problem}")
    portals = [with_port(portal) for portal in (source.targetPortal, *source.portals)]
    disk = IscsiDisk(
        unique=iscsi_name(source.targetPortal, source.iqn, source.lun),
        block=block,
        volume=volume,
        portals=list(dict.fromkeys(portals)),
        iqn=source.iqn,
        lun=source.lun,
        original=source.iscsiInterface,
        initiator=source.initiatorName or "",
    )
    return checked(disk)


def _chap(source: ISCSIVolumeSource, namespace: str) -> ChapWish:
    """`namespace`: of a Secret whose reference names none."""
    ref = source.secretRef
    return ChapWish(
        discovery=source.chapAuthDiscovery,
        session=source.chapAuthSession,
        namespace=getattr(ref, "namespace", "") or namespace,
        name=ref.name if ref is not None else "",
    )


async def _tear_down(pod_dir: str, tools: VolumeTools) -> str:
    return await staged_disk.tear_down(pod_dir, PLUGIN, tools)


TYPE: Final = VolumeType(
    source="iscsi",
    plan=_plan,
    plan_claim=_plan_claim,
    has_devices=True,
    directories=lambda pod_dir, tools: (PLUGIN.replace("/", "~"),),
    tear_down=_tear_down,
)
