"""Fibre Channel disks: found by their links, after a rescan if need be, and taken out of the SCSI subsystem. Runs in
disposable processes: a disk that is away may not answer."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from glob import glob
from typing import Any, Final

import msgspec

from actors.volume_manager.disks.model import FcDisk
from supervision.errors import error_text
from supervision.time_scale import scaled

from . import scsi_devices

RESCAN_SECONDS: Final = 10
"""The wait for links of disks that a rescan finds."""
_LOOK_AGAIN_SECONDS: Final = 0.2


def attach(disk: dict[str, Any], sysfs: str = "/sys", dev: str = "/dev") -> list[str]:
    """[path of the device, '' or the error]."""
    known = msgspec.convert(disk, FcDisk)
    names = _names(known, dev)
    if not _multipath(names, sysfs):
        _rescan(sysfs)
        end = time.monotonic() + scaled(RESCAN_SECONDS)
        while not (names := _names(known, dev)) and time.monotonic() < end:
            time.sleep(_LOOK_AGAIN_SECONDS)
    if not names:
        return ["", "no fc disk found"]
    return [f"{dev}/{_multipath(names, sysfs) or names[0]}", ""]


def detach(disk: dict[str, Any], sysfs: str = "/sys", dev: str = "/dev") -> str:
    """'' or the error; a disk that is gone already is no error."""
    names = _names(msgspec.convert(disk, FcDisk), dev)
    above = _multipath(names, sysfs)
    disks = sorted({*names, *(scsi_devices.disks_below(above, sysfs) if above else ())})
    used = [name for name in ([above] if above else disks) if scsi_devices.is_busy(name, dev)]
    if used:
        return f"/dev/{used[0]} is still in use"
    if above and (error := scsi_devices.flush_multipath(above)):
        return error
    for name in disks:
        scsi_devices.flush_buffers(name)
        try:
            scsi_devices.remove(name, sysfs)
        except OSError as error:
            return f"fc: detachFCDisk failed. device: /dev/{name} err: {error_text(error)}"
    return ""


def is_link(name: str, disk: FcDisk) -> bool:
    """Whether this is the name of a link to the disk below /dev/disk/by-path, or by-id. Pure."""
    if not disk.wwns:
        return name in {f"scsi-{wwid}" for wwid in disk.wwids}
    found = re.fullmatch(rf"(?:pci-.*-fc|fc)-0x([A-Za-z0-9]+)-lun-{disk.lun}", name)
    return found is not None and found[1] in disk.wwns


def _names(disk: FcDisk, dev: str) -> list[str]:
    """The names of the disk's paths, as `sda`."""
    folder = f"{dev}/disk/by-path" if disk.wwns else f"{dev}/disk/by-id"
    return sorted(set(filter(None, (scsi_devices.real_name(link) for link in _links(folder, disk)))))


def _links(folder: str, disk: FcDisk) -> Iterator[str]:
    try:
        found = os.listdir(folder)
    except FileNotFoundError:
        return
    yield from (f"{folder}/{name}" for name in found if is_link(name, disk))


def _multipath(names: list[str], sysfs: str) -> str:
    return next((found for name in names if (found := scsi_devices.multipath_of(name, sysfs))), "")


def _rescan(sysfs: str) -> None:
    """Look for new disks on each SCSI bus. One that cannot be looked at does not keep others from that."""
    for path in sorted(glob(f"{sysfs}/class/scsi_host/*/scan")):
        try:
            scsi_devices.write(path, "- - -")
        except OSError:
            continue
