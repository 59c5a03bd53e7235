"""flexVolume: a volume that a driver, a program of the node, mounts; see `actors/volume_manager/flex_volume/`."""

from __future__ import annotations

import os
from typing import ClassVar, Final
from urllib.parse import quote

import msgspec

from actors.api_clients.kube_client.messages import ApiCall
from actors.shared.kube.codec import ObjectError
from actors.shared.kube.contents import secret
from actors.shared.kube.persistent_volumes import FlexPersistentVolumeSource
from actors.shared.kube.pod import Pod
from actors.shared.kube.volumes import FlexVolumeSource, Volume
from actors.shared.linux.directories import make_path
from actors.volume_manager.flex_volume.protocol import (
    DriverError,
    MountOptions,
    NotSupported,
    driver_of,
    is_driver_name,
    mount_options,
)
from actors.volume_manager.host.directories import DIRECTORY_MODE
from actors.volume_manager.host.unmounts import is_mounted
from actors.volume_manager.persistent_volumes.volume_claims import ClaimedVolume, VolumeClaimError, checked_name
from actors.volume_manager.tools.volume_tools import VolumeTools
from supervision.errors import error_text

from .base import Mounter, Plan, PodContext, RejectedVolume, VolumeType, without_options

PLUGIN: Final = "kubernetes.io/flexvolume"


class SecretOf(msgspec.Struct, frozen=True):
    """The Secret whose values the driver gets. Its type is the driver's name."""

    namespace: str
    name: str


class FlexVolume(Mounter, frozen=True, kw_only=True):
    plugin: ClassVar[str] = PLUGIN
    driver: str
    options: MountOptions
    secret: SecretOf | None = None
    on_root_mismatch: bool = False

    @property
    def measured_plugin(self) -> str:
        return self.driver

    async def set_up(self, pod: Pod, tools: VolumeTools) -> str:
        try:
            able = await tools.flex_drivers.capabilities(self.driver)
            if able.attach:
                text = "its init does not answer that it cannot attach (capabilities: attach: false)"
                return f"driver {self.driver}: this agent attaches no volumes of FlexVolume drivers, and {text}"
            if is_mounted(self.path):
                return ""
            options = mount_options(self.options, await self._secrets(tools))
            make_path(self.path, DIRECTORY_MODE)
            await tools.flex_drivers.run(self.driver, "mount", self.path, options)
        except DriverError as error:
            self._remove_empty()
            return str(error)
        except OSError as error:
            return error_text(error)
        group = self.options.fs_group
        if group is None or self.options.read_only or not able.fsGroup:
            return ""
        return await tools.fs_group.apply(pod, self.path, group, self.on_root_mismatch)

    async def _secrets(self, tools: VolumeTools) -> dict[str, str]:
        """By key, in base64. Raises DriverError."""
        if self.secret is None:
            return {}
        name = f"{self.secret.namespace}/{self.secret.name}"
        path = f"/api/v1/namespaces/{quote(self.secret.namespace, safe='')}/secrets/{quote(self.secret.name, safe='')}"
        answer = await tools.api.call(ApiCall(method="GET", path=path))
        if not answer.ok:
            raise DriverError(f"couldn't get secret {name} err: {answer.message or answer.reason or answer.status}")
        try:
            found = secret(answer.body)
        except ObjectError as error:
            raise DriverError(f"couldn't get secret {name} err: {error}") from None
        if found.type != self.driver:
            raise DriverError(f"couldn't get secret {name} err: cannot get secret of type {self.driver}")
        return found.data

    def _remove_empty(self) -> None:
        """The directory of a volume that is not mounted. A driver may have removed it."""
        try:
            os.rmdir(self.path)
        except OSError:
            pass


def _plan(volume: Volume, context: PodContext) -> Plan:
    source, name, pod = volume.flexVolume or FlexVolumeSource(driver=""), volume.name, context.pod
    if not is_driver_name(source.driver):
        return RejectedVolume(name, f"volume {name!r}: {source.driver!r} is not the name of a FlexVolume driver")
    ref = source.secretRef
    return FlexVolume(
        volume=name,
        path=context.path(source.driver, name),
        driver=source.driver,
        options=_options(name, source, context, read_only=source.readOnly),
        secret=SecretOf(pod.metadata.namespace, ref.name) if ref is not None and ref.name else None,
        on_root_mismatch=context.on_root_mismatch,
    )


def _plan_claim(claimed: ClaimedVolume, context: PodContext) -> Plan:
    source, name = claimed.persistent.spec.flexVolume or FlexPersistentVolumeSource(driver=""), checked_name(claimed)
    if not is_driver_name(source.driver):
        raise VolumeClaimError(f"PV {name}: {source.driver!r} is not the name of a FlexVolume driver")
    if (refused := without_options(claimed)) is not None:
        return refused
    ref = source.secretRef
    namespace = (ref.namespace if ref is not None else "") or context.pod.metadata.namespace
    return FlexVolume(
        volume=claimed.volume,
        path=context.path(source.driver, name),
        driver=source.driver,
        options=_options(name, source, context, read_only=claimed.read_only),
        secret=SecretOf(namespace, ref.name) if ref is not None and ref.name else None,
        on_root_mismatch=context.on_root_mismatch,
    )


def _options(
    name: str, source: FlexVolumeSource | FlexPersistentVolumeSource, context: PodContext, *, read_only: bool
) -> MountOptions:
    pod = context.pod
    return MountOptions(
        volume=name,
        fs_type=source.fsType,
        read_only=read_only,
        options=source.options,
        fs_group=context.fs_group,
        pod=pod.metadata.name,
        namespace=pod.metadata.namespace,
        uid=pod.metadata.uid,
        service_account=pod.spec.serviceAccountName,
    )


def _directories(pod_dir: str, tools: VolumeTools) -> list[str]:
    return tools.flex_drivers.installed(pod_dir)


async def _tear_down(pod_dir: str, tools: VolumeTools) -> str:
    """What a driver leaves mounted, and the volumes of one that is gone, are unmounted as any others."""
    for directory in _directories(pod_dir, tools):
        top = f"{pod_dir}/volumes/{directory}"
        for name in sorted(os.listdir(top)):
            try:
                await tools.flex_drivers.run(driver_of(directory), "unmount", f"{top}/{name}")
            except NotSupported:
                continue
            except DriverError as error:
                return str(error)
    return ""


TYPE: Final = VolumeType(
    source="flexVolume", plan=_plan, plan_claim=_plan_claim, directories=_directories, tear_down=_tear_down
)
