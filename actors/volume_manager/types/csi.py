"""csi: volumes of storage drivers; see `actors/volume_manager/csi/`."""

from __future__ import annotations

import re
from typing import ClassVar, Final

import msgspec

from actors.shared.kube.persistent_volumes import CSIPersistentVolumeSource, PersistentVolume, SecretReference
from actors.shared.kube.pod import Pod
from actors.shared.kube.volumes import CSIVolumeSource, Volume
from actors.volume_manager.csi.model import (
    PLUGIN,
    PUBLISH,
    STAGING,
    CsiMount,
    CsiVolume,
    SecretName,
    device_paths,
    inline_handle,
    volume_dir,
)
from actors.volume_manager.failure_texts import MountError
from actors.volume_manager.persistent_volumes.volume_claims import BLOCK, ClaimedVolume, VolumeClaimError, checked_name
from actors.volume_manager.tools.volume_tools import VolumeTools

from .base import Mounter, Plan, PodContext, RejectedVolume, VolumeType

_DRIVER_NAME: Final = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?\Z")


class CsiMounter(Mounter, frozen=True, kw_only=True):
    plugin: ClassVar[str] = "kubernetes.io/csi"
    mount: CsiMount

    @property
    def is_device(self) -> bool:
        return self.mount.device is not None

    @property
    def measured_plugin(self) -> str:
        return f"{self.plugin}:{self.mount.source.driver}"

    @property
    def spec_name(self) -> str:
        return self.mount.source.name

    async def set_up(self, pod: Pod, tools: VolumeTools) -> str | MountError:
        if tools.csi is None:
            return "no API server is joined"
        return await tools.csi.mount(pod, self.mount) or ""


def _plan(volume: Volume, context: PodContext) -> Plan:
    """The plan of an inline volume, which lives as long as its pod."""
    source, meta = volume.csi or CSIVolumeSource(driver=""), context.pod.metadata
    if not _DRIVER_NAME.match(source.driver):
        return RejectedVolume(volume.name, f"volume {volume.name!r}: {source.driver!r} is not the name of a driver")
    secret = source.nodePublishSecretRef
    inline = CsiVolume(
        name=volume.name,
        driver=source.driver,
        handle=inline_handle(meta.uid, volume.name),
        ephemeral=True,
        read_only=bool(source.readOnly),
        fs_type=source.fsType or "",
        attributes=source.volumeAttributes,
        publish_secret=SecretName(meta.namespace, secret.get("name", "")) if secret else None,
    )
    return mounter(volume.name, inline, context, read_only=inline.read_only)


def _plan_claim(claimed: ClaimedVolume, context: PodContext) -> Plan:
    volume = claimed.persistent
    source = volume.spec.csi or CSIPersistentVolumeSource(driver="", volumeHandle="")
    if not _DRIVER_NAME.match(source.driver) or not source.volumeHandle:
        raise VolumeClaimError(f"PV {claimed.name!r}: its driver {source.driver!r} or volumeHandle is empty")
    # as in the kubelet, the volume's own readOnly only concerns its attachment
    persistent = persistent_volume(checked_name(claimed), volume)
    found = mounter(claimed.volume, persistent, context, read_only=claimed.read_only, claim=claimed.claim)
    return _as_device(found, context) if claimed.is_block else found


def persistent_volume(name: str, volume: PersistentVolume) -> CsiVolume:
    """`name`: of its directory."""
    source = volume.spec.csi or CSIPersistentVolumeSource(driver="", volumeHandle="")
    return CsiVolume(
        name=name,
        driver=source.driver,
        handle=source.volumeHandle,
        block=volume.spec.volumeMode == BLOCK,
        read_only=source.readOnly,
        fs_type=source.fsType,
        attributes=source.volumeAttributes,
        mount_options=volume.spec.mountOptions,
        access_modes=volume.spec.accessModes,
        stage_secret=_secret(source.nodeStageSecretRef),
        publish_secret=_secret(source.nodePublishSecretRef),
        expand_secret=_secret(source.nodeExpandSecretRef),
    )


def _as_device(made: CsiMounter, context: PodContext) -> Plan:
    name = made.mount.source.name
    if name in (STAGING, PUBLISH):
        raise VolumeClaimError(f"PV {name!r}: the name is taken by a directory of devices")
    paths = device_paths(context.plugins_dir, context.pod_dir, name)
    mount = msgspec.structs.replace(made.mount, path=paths.target, device=paths, group=None)
    return msgspec.structs.replace(made, path=paths.link, mount=mount)


def mounter(volume: str, source: CsiVolume, context: PodContext, *, read_only: bool, claim: str = "") -> CsiMounter:
    path = f"{volume_dir(context.pod_dir, source.name)}/mount"
    mount = CsiMount(
        volume=volume,
        path=path,
        source=source,
        group=context.fs_group,
        on_root_mismatch=context.on_root_mismatch,
        read_only=read_only,
        claim=claim,
    )
    return CsiMounter(volume=volume, path=path, mount=mount)


def _secret(ref: SecretReference | None) -> SecretName | None:
    return None if ref is None or not ref.name else SecretName(ref.namespace, ref.name)


async def _tear_down(pod_dir: str, tools: VolumeTools) -> str:
    return await tools.csi.unmount(pod_dir) if tools.csi is not None else ""


TYPE: Final = VolumeType(
    source="csi",
    plan=_plan,
    plan_claim=_plan_claim,
    has_devices=True,
    needs_api="a driver that registers with the API",
    directories=lambda pod_dir, tools: (PLUGIN,),
    tear_down=_tear_down,
)
