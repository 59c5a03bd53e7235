"""CSI drivers, their volumes, and the names and paths of these on this node. Pure.

Names and paths are the kubelet's: drivers and the attach controller compute the same ones.
"""

from __future__ import annotations

import hashlib
from typing import Final

import msgspec

PLUGIN: Final = "kubernetes.io~csi"
DATA: Final = "vol_data.json"
PERSISTENT, EPHEMERAL = "Persistent", "Ephemeral"


class Driver(msgspec.Struct, frozen=True, kw_only=True):
    """A registered driver. `stages`, `groups`, `many_writers` are its capabilities STAGE_UNSTAGE_VOLUME,
    VOLUME_MOUNT_GROUP and SINGLE_NODE_MULTI_WRITER."""

    name: str
    endpoint: str
    node_id: str
    max_volumes: int = 0
    topology: dict[str, str] = {}
    stages: bool = False
    groups: bool = False
    many_writers: bool = False


class SecretName(msgspec.Struct, frozen=True):
    namespace: str
    name: str


class CsiVolume(msgspec.Struct, frozen=True, kw_only=True):
    """A PersistentVolume, or an inline volume of a pod (`ephemeral`). `name`: its own, or in the pod."""

    name: str
    driver: str
    handle: str
    ephemeral: bool = False
    read_only: bool = False
    fs_type: str = ""
    attributes: dict[str, str] = {}
    mount_options: list[str] = []
    access_modes: list[str] = []
    stage_secret: SecretName | None = None
    publish_secret: SecretName | None = None


class CsiMount(msgspec.Struct, frozen=True, kw_only=True):
    """The mount of a volume for a pod, at `path`."""

    volume: str
    path: str
    source: CsiVolume
    group: int | None = None
    """fsGroup."""
    on_root_mismatch: bool = False
    read_only: bool = False
    claim: str = ""


class VolumeRecord(msgspec.Struct, frozen=True, kw_only=True):
    """vol_data.json beside a pod's volume: what a later incarnation needs to unmount it."""

    driverName: str
    volumeHandle: str
    specVolID: str = ""
    nodeName: str = ""
    attachmentID: str = ""
    """Empty when the driver needs no attach."""
    volumeLifecycleMode: str = PERSISTENT
    volume: str = ""
    claim: str = ""
    """The claim and `volume`, its name in the pod, are for statistics. The kubelet's file has neither, nor `ready`."""
    ready: bool = False
    """It is published, and fsGroup is applied."""


def inline_handle(uid: str, volume: str) -> str:
    return "csi-" + _sha(f"{uid}{volume}")


def attachment_name(handle: str, driver: str, node: str) -> str:
    """Of the VolumeAttachment that the attach controller makes."""
    return "csi-" + _sha(f"{handle}{driver}{node}")


def unique_name(driver: str, handle: str) -> str:
    """Of an attached volume, in the node's status."""
    return f"kubernetes.io/csi/{driver}^{handle}"


def stage_dir(plugins_dir: str, driver: str, handle: str) -> str:
    return f"{plugins_dir}/kubernetes.io/csi/{driver}/{_sha(handle)}"


def volume_dir(pod_dir: str, name: str) -> str:
    """The volume itself is at `mount` in it."""
    return f"{pod_dir}/volumes/{PLUGIN}/{name}"


def _sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
