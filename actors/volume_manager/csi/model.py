"""CSI drivers, their volumes, and the volumes' names and paths on this node. Pure.

Names and paths are the kubelet's: drivers and the attach controller compute the same ones.
"""

from __future__ import annotations

import hashlib
import os
from typing import Final, Literal

import msgspec

from actors.volume_manager.volume_paths import device_link

PLUGIN: Final = "kubernetes.io~csi"
DATA: Final = "vol_data.json"
PERSISTENT, EPHEMERAL = "Persistent", "Ephemeral"
STAGING, PUBLISH = "staging", "publish"
"""Directories of devices, beside those of PersistentVolumes."""


class Driver(msgspec.Struct, frozen=True, kw_only=True):
    """A registered driver. `stages`, `expands`, `groups`, `many_writers`, `measures`, `conditions` are its capabilities
    STAGE_UNSTAGE_VOLUME, EXPAND_VOLUME, VOLUME_MOUNT_GROUP, SINGLE_NODE_MULTI_WRITER, GET_VOLUME_STATS and
    VOLUME_CONDITION."""

    name: str
    endpoint: str
    node_id: str
    max_volumes: int = 0
    topology: dict[str, str] = {}
    stages: bool = False
    expands: bool = False
    groups: bool = False
    many_writers: bool = False
    measures: bool = False
    conditions: bool = False


class SecretName(msgspec.Struct, frozen=True):
    namespace: str
    name: str


class CsiVolume(msgspec.Struct, frozen=True, kw_only=True):
    """A PersistentVolume, or an inline volume of a pod (`ephemeral`). `name`: its own, or in the pod."""

    name: str
    driver: str
    handle: str
    ephemeral: bool = False
    block: bool = False
    """volumeMode Block: pods use it as a device."""
    read_only: bool = False
    fs_type: str = ""
    attributes: dict[str, str] = {}
    mount_options: list[str] = []
    access_modes: list[str] = []
    stage_secret: SecretName | None = None
    publish_secret: SecretName | None = None
    expand_secret: SecretName | None = None


class DevicePaths(msgspec.Struct, frozen=True, kw_only=True):
    """The kubelet's paths of a volume that a pod uses as a device. `target` is published, `staging` is staged."""

    record: str
    """Directory of vol_data.json, which the pods that use the volume share."""
    staging: str
    target: str
    link: str
    """In the pod's directory, to `target`; made before the driver is called."""


class CsiMount(msgspec.Struct, frozen=True, kw_only=True):
    """A volume for a pod, published at `path`."""

    volume: str
    path: str
    device: DevicePaths | None = None
    """None for a file system."""
    source: CsiVolume
    group: int | None = None
    """fsGroup."""
    on_root_mismatch: bool = False
    read_only: bool = False
    claim: str = ""


RecordState = Literal["", "none", "staged", "published"]


class VolumeRecord(msgspec.Struct, frozen=True, kw_only=True):
    """vol_data.json beside a pod's volume: the data for unmounting it after a restart."""

    driverName: str
    volumeHandle: str
    specVolID: str = ""
    nodeName: str = ""
    attachmentID: str = ""
    """Empty if the driver needs no attachment."""
    volumeLifecycleMode: str = PERSISTENT
    volume: str = ""
    claim: str = ""
    """The claim and `volume`, its name in the pod, are for statistics. The kubelet's file has neither, nor `state`."""
    state: RecordState = ""
    """`published`: the volume is published, and its fsGroup is applied. `staged`: only in the record of a staged
    volume, or of a device, whose record serves for both. `none`: the driver has nothing to undo, because it was not
    called or gave a final error. '': unknown, as in a file of the kubelet. A string like all fields: the kubelet reads
    the file as a map of strings, and refuses other values.
    """


def inline_handle(uid: str, volume: str) -> str:
    return "csi-" + _sha(f"{uid}{volume}")


def attachment_name(handle: str, driver: str, node: str) -> str:
    """The name of the VolumeAttachment that the attach controller makes."""
    return "csi-" + _sha(f"{handle}{driver}{node}")


def unique_name(driver: str, handle: str) -> str:
    """The name of an attached volume in the node's status."""
    return f"kubernetes.io/csi/{driver}^{handle}"


def stage_dir(plugins_dir: str, driver: str, handle: str) -> str:
    return f"{plugins_dir}/kubernetes.io/csi/{driver}/{_sha(handle)}"


def volume_dir(pod_dir: str, name: str) -> str:
    """The volume itself is at `mount` in it."""
    return f"{pod_dir}/volumes/{PLUGIN}/{name}"


def devices_dir(plugins_dir: str) -> str:
    return f"{plugins_dir}/kubernetes.io/csi/volumeDevices"


def device_paths(plugins_dir: str, pod_dir: str, name: str) -> DevicePaths:
    """`name`: the PersistentVolume's."""
    top = devices_dir(plugins_dir)
    return DevicePaths(
        record=f"{top}/{name}/data",
        staging=f"{top}/{STAGING}/{name}",
        target=f"{top}/{PUBLISH}/{name}/{os.path.basename(pod_dir)}",
        link=device_link(pod_dir, PLUGIN, name),
    )


def _sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
