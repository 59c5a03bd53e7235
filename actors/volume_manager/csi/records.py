"""The records of CSI volumes (vol_data.json), written before a driver is called, read to unmount a volume later."""

from __future__ import annotations

import os
from collections.abc import Iterator

import msgspec

from actors.shared.linux import mountinfo
from supervision.errors import UNREADABLE
from supervision.state_file import write_private

from .model import DATA, PLUGIN, VolumeRecord, stage_dir, unique_name


class Records:
    """Below the agent's pods and plugins directories. Blocking, but on the agent's own file system."""

    def __init__(self, pods_dir: str, plugins_dir: str) -> None:
        self._pods_dir, self._plugins_dir = pods_dir, plugins_dir

    def stage_dir(self, record: VolumeRecord) -> str:
        return stage_dir(self._plugins_dir, record.driverName, record.volumeHandle)

    def of_pods(self) -> Iterator[VolumeRecord]:
        """The records of all volumes of all pods."""
        for uid in _names(self._pods_dir):
            for _, record in of_pod(f"{self._pods_dir}/{uid}"):
                if record is not None:
                    yield record

    def used(self, record: VolumeRecord) -> bool:
        """Whether any pod uses the volume."""
        key = (record.driverName, record.volumeHandle)
        return any((one.driverName, one.volumeHandle) == key for one in self.of_pods())

    def staged(self) -> list[VolumeRecord]:
        """The records of the volumes that are staged, or may be."""
        top = f"{self._plugins_dir}/kubernetes.io/csi"
        folders = (f"{top}/{driver}/{name}" for driver in _names(top) for name in _names(f"{top}/{driver}"))
        return [record for folder in folders if (record := read(folder)) is not None]

    def in_use(self) -> list[str]:
        """Unique names of attached volumes that are in use on this node."""
        found = (*self.of_pods(), *self.staged())
        return sorted({unique_name(one.driverName, one.volumeHandle) for one in found if one.attachmentID})


def of_pod(pod_dir: str) -> list[tuple[str, VolumeRecord | None]]:
    """Directory and record of each CSI volume of the pod; None for a record that cannot be read."""
    top = f"{pod_dir}/volumes/{PLUGIN}"
    return [(f"{top}/{name}", read(f"{top}/{name}")) for name in _names(top)]


def read(folder: str) -> VolumeRecord | None:
    try:
        with open(f"{folder}/{DATA}", "rb") as file:
            return msgspec.json.decode(file.read(), type=VolumeRecord)
    except (OSError, *UNREADABLE):
        return None


def write(folder: str, record: VolumeRecord) -> None:
    """Write the record atomically, unless it is there already. Raises OSError."""
    if read(folder) == record:
        return
    os.makedirs(folder, 0o750, exist_ok=True)
    write_private(f"{folder}/{DATA}", msgspec.json.encode(record))


def remove(folder: str, mount: str) -> None:
    """Remove mount point, record and directory, in this order. Raises OSError when something is in them."""
    path = f"{folder}/{mount}"
    if os.path.isdir(path) and not os.path.islink(path):
        os.rmdir(path)
    elif os.path.lexists(path):
        os.unlink(path)
    for name in (f".{DATA}", DATA):
        if os.path.lexists(f"{folder}/{name}"):
            os.unlink(f"{folder}/{name}")
    os.rmdir(folder)


def mounted(path: str) -> bool:
    """Whether the mount table has the path. The path itself, which may hang, is not touched."""
    real = f"{os.path.realpath(os.path.dirname(path))}/{os.path.basename(path)}"
    return any(mount.point == real for mount in mountinfo.read())


def _names(directory: str) -> list[str]:
    try:
        return sorted(name for name in os.listdir(directory) if not name.startswith("."))
    except OSError:
        return []
