"""Finds the records of CSI volumes (vol_data.json) below the agent's pods and plugins directories, and removes them
with their volumes. Calls block, but only on the agent's own file system. They raise OSError when a record, or a
directory of records, is there and cannot be read: a volume that cannot be seen may be in use.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

import msgspec

from actors.shared.linux.directories import names_in
from actors.shared.linux.presence import is_there
from actors.volume_manager.host.unmounts import is_mounted
from actors.volume_manager.volume_paths import device_link

from . import record_file
from .model import (
    DATA,
    PLUGIN,
    PUBLISH,
    STAGING,
    CsiMount,
    DevicePaths,
    VolumeRecord,
    device_paths,
    devices_dir,
    stage_dir,
    unique_name,
)

_MOUNT = "mount"
_STAGED = "globalmount"
mounted = is_mounted


class PublishedVolume(msgspec.Struct, frozen=True, kw_only=True):
    """A volume that is, or may be, published to a pod at `target`. `folder`: the directory of its record."""

    folder: str
    target: str
    record: VolumeRecord | None
    """None when there is none, or it is damaged."""
    device: DevicePaths | None = None


class StagedVolume(msgspec.Struct, frozen=True, kw_only=True):
    """A volume that is, or may be, staged at `target`. `folder`: the directory of its record."""

    folder: str
    target: str
    record: VolumeRecord


class Records:
    def __init__(self, pods_dir: str, plugins_dir: str) -> None:
        self._pods_dir, self._plugins_dir = pods_dir, plugins_dir

    # -- published ----------------------------------------------------------------------------------------------------
    def of_pod(self, pod_dir: str) -> list[PublishedVolume]:
        """The records of all CSI volumes of the pod."""
        return [*_file_systems(pod_dir), *self._devices(pod_dir)]

    def of_pods(self) -> Iterator[VolumeRecord]:
        """The records of all volumes of all pods."""
        for uid in names_in(self._pods_dir):
            for one in self.of_pod(f"{self._pods_dir}/{uid}"):
                if one.record is not None:
                    yield one.record

    def _devices(self, pod_dir: str) -> Iterator[PublishedVolume]:
        """The pod's devices, found by their links and, because a kubelet makes links last, by published targets."""
        top, uid = f"{devices_dir(self._plugins_dir)}/{PUBLISH}", os.path.basename(pod_dir)
        linked = names_in(os.path.dirname(device_link(pod_dir, PLUGIN, "")))
        published = (name for name in names_in(top) if is_there(f"{top}/{name}/{uid}"))
        for name in sorted({*linked, *published}):
            paths = device_paths(self._plugins_dir, pod_dir, name)
            yield PublishedVolume(
                folder=paths.record, target=paths.target, record=record_file.read(paths.record), device=paths
            )

    def used(self, record: VolumeRecord) -> bool:
        """Whether any pod uses the volume."""
        key = (record.driverName, record.volumeHandle)
        return any((one.driverName, one.volumeHandle) == key for one in self.of_pods())

    def in_use(self) -> list[str]:
        """Unique names of attached volumes that are in use on this node."""
        found = (*self.of_pods(), *(one.record for one in self.staged()))
        return sorted({unique_name(one.driverName, one.volumeHandle) for one in found if one.attachmentID})

    # -- staged -------------------------------------------------------------------------------------------------------
    def staged(self) -> list[StagedVolume]:
        """The volumes that are staged, or may be."""
        top = f"{self._plugins_dir}/kubernetes.io/csi"
        folders = [f"{top}/{driver}/{name}" for driver in names_in(top) for name in names_in(f"{top}/{driver}")]
        found = [StagedVolume(folder=one, target=f"{one}/{_STAGED}", record=known) for one in folders
                 if (known := record_file.read(one)) is not None]  # fmt: skip
        devices = (name for name in names_in(devices_dir(self._plugins_dir)) if name not in (STAGING, PUBLISH))
        paths = (device_paths(self._plugins_dir, "", name) for name in devices)
        return found + [StagedVolume(folder=one.record, target=one.staging, record=known) for one in paths
                        if (known := record_file.read(one.record)) is not None]  # fmt: skip

    def stage_path(self, step: CsiMount) -> str:
        """The staging path of the volume; '' if its driver does not stage."""
        if step.device is not None:
            return step.device.staging
        return f"{stage_dir(self._plugins_dir, step.source.driver, step.source.handle)}/{_STAGED}"

    def stage_of(self, record: VolumeRecord, device: DevicePaths | None) -> StagedVolume:
        """The staging path of the volume, whether it is staged or not."""
        if device is not None:
            return StagedVolume(folder=device.record, target=device.staging, record=record)
        folder = stage_dir(self._plugins_dir, record.driverName, record.volumeHandle)
        return StagedVolume(folder=folder, target=f"{folder}/{_STAGED}", record=record)


def _file_systems(pod_dir: str) -> list[PublishedVolume]:
    top = f"{pod_dir}/volumes/{PLUGIN}"
    folders = [f"{top}/{name}" for name in names_in(top)]
    return [PublishedVolume(folder=one, target=f"{one}/{_MOUNT}", record=record_file.read(one)) for one in folders]


def remove_published(volume: PublishedVolume) -> None:
    """Remove the files of a volume that is no longer published. Raises OSError when something is in its directory."""
    if volume.device is None:
        _remove(volume.folder, volume.target)
        return
    _unlink(volume.target)
    _unlink(volume.device.link)
    with contextlib.suppress(OSError):  # other pods use it
        os.rmdir(os.path.dirname(volume.target))


def remove_staged(volume: StagedVolume) -> None:
    """Remove the files of a volume that is no longer staged. Raises OSError when something is in its directory."""
    _remove(volume.folder, volume.target)
    if os.path.basename(os.path.dirname(volume.target)) == STAGING:
        with contextlib.suppress(OSError):  # a kubelet has left a directory `dev` in it
            os.rmdir(os.path.dirname(volume.folder))


def _remove(folder: str, target: str) -> None:
    """Remove mount point, record and directory, in this order."""
    if os.path.isdir(target) and not os.path.islink(target):
        os.rmdir(target)
    else:
        _unlink(target)
    for name in (f".{DATA}", DATA):
        _unlink(f"{folder}/{name}")
    os.rmdir(folder)


def _unlink(path: str) -> None:
    if os.path.lexists(path):
        os.unlink(path)
