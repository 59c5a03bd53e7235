"""A network disk that this node attaches, its names, and its places on this node. Pure.

Names and places are the kubelet's: the attach controller computes the same names, and a kubelet that takes over finds
the disks by their places.
"""

from __future__ import annotations

import re
from typing import Final

import msgspec

ISCSI, FC = "iscsi", "fc"
DEVICES: Final = "volumeDevices"
"""Directory of disks that pods use as devices, beside those of file systems."""
INTERFACE: Final = "default"
PORT: Final = 3260
_WORD: Final = r"[^/\0\s]"
_PORTAL: Final = re.compile(r"[A-Za-z0-9\[][A-Za-z0-9.:\[\]_%-]*\Z")
_INTERFACE: Final = re.compile(r"[A-Za-z0-9]" + _WORD + r"*\Z")
_QUALIFIED: Final = re.compile(r"(iqn|eui|naa)\." + _WORD + r"+\Z")
_WWN: Final = re.compile(r"[A-Za-z0-9]+\Z")
_WWID: Final = re.compile(r"[A-Za-z0-9][^/\0]*\Z")
_ISCSI_PLACE: Final = re.compile(
    r"iface-(?P<interface>[^/]+)/(?P<portal>.+?)-(?P<iqn>(iqn|eui|naa)\..+)-lun-(?P<lun>[0-9]+)\Z"
)
_FC_PLACE: Final = re.compile(r"(?P<wwns>[A-Za-z0-9-]+)-lun-(?P<lun>[0-9]+)\Z")
_MOST_NAME: Final = 255
"""Bytes of a file's name."""


class UnusableDiskError(ValueError):
    """A field of the source cannot be part of a path, or of a command."""


class IscsiDisk(msgspec.Struct, frozen=True, kw_only=True, tag_field="plugin", tag=ISCSI):
    unique: str = ""
    """Its name in the node's status; '' where that is not known."""
    block: bool = False
    """Pods use it as a device."""
    volume: str = ""
    """The PersistentVolume's name, or the volume's in the pod; for the name of a cloned interface."""
    portals: list[str]
    """Each with a port; the first one names the place."""
    iqn: str
    lun: int
    original: str = INTERFACE
    """The interface that the source names."""
    initiator: str = ""
    """The name of the initiator, of an interface that is cloned for the volume; '': that of the node."""

    @property
    def interface(self) -> str:
        """The interface of its sessions."""
        return f"{self.portals[0]}:{self.volume}" if self.initiator else self.original

    @property
    def place(self) -> str:
        """Its directory below that of the plugins."""
        top = f"kubernetes.io/{ISCSI}/{DEVICES}" if self.block else f"kubernetes.io/{ISCSI}"
        return f"{top}/iface-{self.interface}/{self.portals[0]}-{self.iqn}-lun-{self.lun}"

    @property
    def shared(self) -> str:
        """What it shares with other disks that are attached: one of these at a time."""
        return f"{ISCSI} {self.iqn}"


class FcDisk(msgspec.Struct, frozen=True, kw_only=True, tag_field="plugin", tag=FC):
    """`wwns` with `lun`, or `wwids`."""

    unique: str = ""
    block: bool = False
    wwns: list[str] = []
    lun: int = 0
    wwids: list[str] = []
    """With _ in place of white space, as in names of devices."""

    @property
    def place(self) -> str:
        top = f"kubernetes.io/{FC}/{DEVICES}" if self.block else f"kubernetes.io/{FC}"
        name = f"{'-'.join(self.wwns)}-lun-{self.lun}" if self.wwns else "-".join(self.wwids)
        return f"{top}/{name}"

    @property
    def shared(self) -> str:
        return f"{FC} {self.place}"


Disk = IscsiDisk | FcDisk


def with_port(portal: str) -> str:
    """As the kubelet has it: an IPv6 address in brackets stays as it is."""
    return portal if ":" in portal else f"{portal}:{PORT}"


def iscsi_name(portal: str, iqn: str, lun: int) -> str:
    """The name of an attached volume in the node's status. `portal`: as the source has it."""
    return f"kubernetes.io/{ISCSI}/{portal}:{iqn}:{lun}"


def fc_name(wwns: list[str], lun: int, wwids: list[str]) -> str:
    """`wwids`: as the source has them. Lists are as Go prints them."""
    return f"kubernetes.io/{FC}/[{' '.join(wwns)}]:{lun}" if wwns else f"kubernetes.io/{FC}/[{' '.join(wwids)}]"


def checked(disk: Disk) -> Disk:
    """Raises UnusableDiskError."""
    for problem in _iscsi_problems(disk) if isinstance(disk, IscsiDisk) else _fc_problems(disk):
        raise UnusableDiskError(problem)
    if any(len(name.encode()) > _MOST_NAME for name in disk.place.split("/")):
        raise UnusableDiskError(f"{disk.place.rpartition('/')[2][:80]!r}... is too long for the name of a directory")
    return disk


def _iscsi_problems(disk: IscsiDisk) -> list[str]:
    found = [f"portal {portal[:80]!r} is no address" for portal in disk.portals if not _PORTAL.match(portal)]
    names = [disk.iqn, *([disk.initiator] if disk.initiator else [])]
    found += [f"{name[:80]!r} is no name of the form iqn, eui or naa" for name in names if not _QUALIFIED.match(name)]
    if not _INTERFACE.match(disk.original):
        found.append(f"iscsiInterface {disk.original[:80]!r} is no name of an interface")
    return found


def _fc_problems(disk: FcDisk) -> list[str]:
    if not disk.wwns and not disk.wwids:
        return ["no fc disk information found. failed to make a new mounter"]
    found = [f"targetWWN {name[:80]!r} is none" for name in disk.wwns if not _WWN.match(name)]
    return found + [f"wwid {name[:80]!r} is none" for name in disk.wwids if not _WWID.match(name)]


def disk_at(place: str) -> Disk | None:
    """The disk of a place that has no record: a kubelet has attached it. None: it is no place of a disk."""
    for plugin in (ISCSI, FC):
        rest = place.removeprefix(f"kubernetes.io/{plugin}/")
        if rest != place:
            name = rest.removeprefix(f"{DEVICES}/")
            return (_iscsi_at if plugin == ISCSI else _fc_at)(name, name != rest)
    return None


def _iscsi_at(name: str, block: bool) -> IscsiDisk | None:
    found = _ISCSI_PLACE.match(name)
    if found is None:
        return None
    return IscsiDisk(
        block=block, portals=[found["portal"]], iqn=found["iqn"], lun=int(found["lun"]), original=found["interface"]
    )


def _fc_at(name: str, block: bool) -> FcDisk | None:
    if "/" in name or not name:
        return None
    found = _FC_PLACE.match(name)
    if found is None:
        return FcDisk(block=block, wwids=name.split("-"))
    return FcDisk(block=block, wwns=found["wwns"].split("-"), lun=int(found["lun"]))
