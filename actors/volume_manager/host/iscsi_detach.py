"""Detaches an iSCSI disk that is not mounted any more: takes it out of the SCSI subsystem, and logs out. Runs in a
disposable process: a disk whose target is away answers after minutes."""

from __future__ import annotations

from typing import Any

import msgspec

from actors.volume_manager.disks.model import IscsiDisk
from supervision.errors import error_text

from . import scsi_devices
from .iscsi_sessions import sessions
from .iscsiadm import NO_SESSION, NOTHING_FOUND, PROGRAM, PROGRAM_SECONDS, IscsiError, ProgramError, iscsiadm
from .mount_program import NOT_RUN
from .running_programs import wait_until_ended


def detach(disk: dict[str, Any], portals: list[str], sysfs: str = "/sys", dev: str = "/dev") -> str:
    """'' or the error; what is gone already is no error. `portals`: those that no other disk needs."""
    known = msgspec.convert(disk, IscsiDisk)
    if not wait_until_ended((PROGRAM,), {known.iqn, *known.portals}, PROGRAM_SECONDS):
        return f"{PROGRAM} of an earlier attempt still runs"
    try:
        warning = _remove_disks(known, sysfs, dev)
        used = _used_portals(known, sysfs, dev)
        unused = [portal for portal in portals if portal not in used]
        for portal in unused:
            _log_out(known, portal, sysfs)
        if unused and known.initiator:
            _forget("-m", "iface", "-I", known.interface, "-o", "delete")
    except IscsiError as error:
        return str(error)
    return "" if unused else warning  # what could not be removed is gone with its session


def _remove_disks(disk: IscsiDisk, sysfs: str, dev: str) -> str:
    """'' or the error of a disk that stays. Raises IscsiError when it is in use."""
    names = [name for session in sessions(disk.iqn, disk.interface, sysfs) for name in session.disks(disk.lun)]
    maps = {found for name in names if (found := scsi_devices.multipath_of(name, sysfs))}
    used = [name for name in sorted(maps) or names if scsi_devices.is_busy(name, dev)]
    if used:
        raise IscsiError(f"/dev/{used[0]} is still in use")
    errors = [error for name in sorted(maps) if (error := scsi_devices.flush_multipath(name))]
    for name in names:
        try:
            scsi_devices.remove(name, sysfs)
        except OSError as error:
            errors.append(error_text(error))
    return "; ".join(errors)


def _used_portals(disk: IscsiDisk, sysfs: str, dev: str) -> set[str]:
    """Those with a session that has another disk in use: who has mounted that has perhaps logged in, too."""
    found = sessions(disk.iqn, disk.interface, sysfs)
    used = (session for session in found if any(scsi_devices.is_busy(name, dev) for name in session.disks()))
    return {portal for session in used for portal in session.portals}


def _log_out(disk: IscsiDisk, portal: str, sysfs: str) -> None:
    """Raises IscsiError."""
    node = ("-m", "node", "-p", portal, "-T", disk.iqn, "-I", disk.interface)
    try:
        _forget(*node, "--logout")
        _forget(*node, "-o", "delete")
    except ProgramError as error:
        if error.status != NOT_RUN or sessions(disk.iqn, disk.interface, sysfs):
            raise IscsiError(f"iscsi: failed to log out of {disk.iqn} at {portal}: {error}") from None


def _forget(*words: str) -> None:
    """Raises ProgramError, unless what is to be undone is not there."""
    iscsiadm(*words, good=(NO_SESSION, NOTHING_FOUND))
