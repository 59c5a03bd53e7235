"""The disks that this node has attached, or may have: a record for each, written before anything is attached, and
removed last. Calls block, but only on the agent's own file system.

It is beside the directory of the disk: what is in that is hidden while the disk is mounted there.
"""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from typing import Final

import msgspec

from actors.shared.linux.directories import names_in
from actors.shared.linux.presence import is_there
from supervision.errors import UNREADABLE
from supervision.state_file import NotAFileError, read_private, write_private

from .model import DEVICES, FC, ISCSI, Disk, IscsiDisk, disk_at

KUBELETS: Final = "iscsi.json"
"""The record of a kubelet, in the directory of a disk that is not mounted."""
_DECODER: Final[msgspec.json.Decoder[Disk]] = msgspec.json.Decoder(Disk)


class _KubeletRecord(msgspec.Struct, frozen=True):
    VolName: str = ""
    Portals: list[str] = []
    InitIface: str = ""
    InitiatorName: str = ""


class DiskRecords:
    def __init__(self, plugins_dir: str) -> None:
        self.plugins_dir = plugins_dir

    def directory(self, disk: Disk) -> str:
        """Where its file system is mounted, for all pods that use it."""
        return f"{self.plugins_dir}/{disk.place}"

    def note(self, disk: Disk) -> None:
        """The disk will be attached. Raises OSError."""
        path = self._path(disk)
        if _read(path) != disk:
            os.makedirs(os.path.dirname(path), 0o750, exist_ok=True)
            write_private(path, msgspec.json.encode(disk))

    def forget(self, disk: Disk) -> None:
        """The disk is detached. Raises OSError."""
        path = self._path(disk)
        _unlink(f"{self.directory(disk)}/{KUBELETS}")
        if os.path.isdir(self.directory(disk)):
            os.rmdir(self.directory(disk))
        _unlink(path)
        if isinstance(disk, IscsiDisk):
            with suppress(OSError):  # other disks have the same interface
                os.rmdir(os.path.dirname(path))

    def has(self, disk: Disk) -> bool:
        """Whether it may still be attached. Raises OSError if that cannot be seen."""
        return is_there(self._path(disk)) or is_there(self.directory(disk))

    def all(self) -> list[Disk]:
        """Raises OSError when a directory or a record cannot be read."""
        found: list[Disk] = []
        for directory in self._directories():
            names = names_in(f"{self.plugins_dir}/{directory}", hidden=True)
            known = [disk for name in names if name.startswith(".") and name.endswith(".json")
                     if (disk := _read(f"{self.plugins_dir}/{directory}/{name}")) is not None]  # fmt: skip
            places = {disk.place for disk in known}
            other = (f"{directory}/{name}" for name in names if not name.startswith(".") and name != DEVICES)
            unknown = (disk_at(place) for place in other if place not in places)
            found += [*known, *(self.with_kubelets(disk) for disk in unknown if disk is not None)]
        return found

    def _directories(self) -> list[str]:
        """Those that hold the directories of disks."""
        tops = [f"kubernetes.io/{plugin}{below}" for plugin in (ISCSI, FC) for below in ("", f"/{DEVICES}")]
        interfaces = (
            f"{top}/{name}"
            for top in tops[:2]
            for name in names_in(f"{self.plugins_dir}/{top}", hidden=True)
            if name.startswith("iface-")
        )
        return [*interfaces, *tops[2:]]

    def with_kubelets(self, disk: Disk) -> Disk:
        """A disk that a kubelet has attached, with what its record has: that is hidden while the disk is mounted."""
        if disk.unique or not isinstance(disk, IscsiDisk):
            return disk
        try:
            known = msgspec.json.decode(read_private(f"{self.directory(disk)}/{KUBELETS}"), type=_KubeletRecord)
        except (OSError, *UNREADABLE):
            return disk
        whole = msgspec.structs.replace(
            disk,
            volume=known.VolName,
            portals=known.Portals or disk.portals,
            original=known.InitIface or disk.original,
            initiator=known.InitiatorName,
        )
        return whole if whole.place == disk.place else disk

    def _path(self, disk: Disk) -> str:
        above, name = os.path.split(self.directory(disk))
        return f"{above}/.{hashlib.sha256(name.encode()).hexdigest()[:32]}.json"

    def note_for_kubelets(self, disk: Disk) -> None:
        """Write the kubelet's record of a disk that is not mounted yet. Raises OSError."""
        directory = self.directory(disk)
        os.makedirs(directory, 0o750, exist_ok=True)
        if isinstance(disk, IscsiDisk):
            record = {
                "VolName": disk.volume,
                "Portals": disk.portals,
                "Iqn": disk.iqn,
                "Lun": str(disk.lun),
                "InitIface": disk.original,
                "Iface": disk.interface,
                "InitiatorName": disk.initiator,
                "MetricsProvider": None,
            }
            write_private(f"{directory}/{KUBELETS}", msgspec.json.encode(record))


def _read(path: str) -> Disk | None:
    """None: there is none, or it is damaged. Raises OSError when that cannot be seen."""
    try:
        return _DECODER.decode(read_private(path))
    except (FileNotFoundError, NotADirectoryError, NotAFileError, *UNREADABLE):
        return None


def _unlink(path: str) -> None:
    with suppress(FileNotFoundError):
        os.unlink(path)
