"""Attaches an iSCSI disk: logs in to its target at each portal, and waits for the disk. Runs in a disposable process:
a target that is away is waited for, for minutes."""

from __future__ import annotations

import os
import time
from glob import escape, glob
from typing import Any, Final, NamedTuple

import msgspec

from actors.volume_manager.disks.model import IscsiDisk
from supervision.errors import error_text
from supervision.time_scale import scaled

from . import scsi_devices
from .iscsi_sessions import IscsiSession, sessions
from .iscsiadm import EXISTS, IscsiError, ProgramError, iscsiadm, settings_of, transport_of, try_iscsiadm
from .mount_program import STILL_RUNNING

DEVICE_SECONDS: Final = 30
"""The wait for a disk after the login."""
MULTIPATH_SECONDS: Final = 10
ENOUGH_PATHS, ENOUGH_ATTEMPTS, MOST_ATTEMPTS = 2, 2, 5
"""Paths that are enough for a multipath device after so many attempts, and attempts to get at least these."""
_LOOK_AGAIN_SECONDS: Final = 0.2

Chap = dict[str, dict[str, str]]
"""Settings of iscsiadm by name, of `discovery` and `session`; without one of these it is not used there."""


class _Host(NamedTuple):
    """Where the kernel shows devices; elsewhere in tests."""

    sysfs: str
    dev: str


def attach(disk: dict[str, Any], chap: Chap, seconds: float, sysfs: str = "/sys", dev: str = "/dev") -> list[str]:
    """[path of the device, '' or the error]. `seconds`: after these no further attempt at missing paths begins."""
    try:
        return [_attached(msgspec.convert(disk, IscsiDisk), chap, seconds, _Host(sysfs, dev)), ""]
    except IscsiError as error:
        return ["", str(error)]


def _attached(disk: IscsiDisk, chap: Chap, seconds: float, host: _Host) -> str:
    """The path of the device. Raises IscsiError."""
    try:
        shown = iscsiadm("-m", "iface", "-I", disk.original, "-o", "show")
    except ProgramError as error:
        raise IscsiError(f"iscsi: could not read iface {disk.original} error: {error}") from None
    transport = transport_of(shown)
    if not transport:
        raise IscsiError(f"Could not parse iface file for {disk.original}")
    if disk.initiator:
        _clone_interface(disk, shown)
    links, last, end = dict[str, str](), "", time.monotonic() + scaled(seconds)
    for attempt in range(1, MOST_ATTEMPTS + 1):
        for portal in (each for each in disk.portals if each not in links):
            try:
                links[portal] = _path(disk, portal, chap, transport, host)
            except IscsiError as error:
                last = str(error)
        if not links:
            if disk.initiator:
                try_iscsiadm("-m", "iface", "-I", disk.interface, "-o", "delete")
            raise IscsiError(f"failed to get any path for iscsi disk, last err seen:\n{last}")
        are_enough = len(links) >= ENOUGH_PATHS and attempt >= ENOUGH_ATTEMPTS
        if len(links) == len(disk.portals) or are_enough or time.monotonic() >= end:
            break
    several = len(disk.portals) > 1
    return _multipath(list(links.values()), MULTIPATH_SECONDS if several else 0, host) or next(iter(links.values()))


def _path(disk: IscsiDisk, portal: str, chap: Chap, transport: str, host: _Host) -> str:
    """The path of the disk at this portal. Raises IscsiError."""
    session = _session(disk, portal, host)
    if session is None:
        _login(disk, portal, chap)
        session = _session(disk, portal, host)
    if session is None:
        raise IscsiError(f"Could not get SCSI host number for portal {portal} after logging in")
    try:
        scsi_devices.write(f"{host.sysfs}/class/scsi_host/host{session.host}/scan", f"0 0 {disk.lun}")
    except OSError as error:
        raise IscsiError(error_text(error)) from None
    patterns = [f"{host.dev}/disk/by-path/{name}" for name in link_patterns(disk, portal, transport)]
    end = time.monotonic() + scaled(DEVICE_SECONDS)
    while True:
        names = session.disks(disk.lun)
        links = sorted(link for pattern in patterns for link in glob(pattern))
        if found := [link for link in links if scsi_devices.real_name(link) in names]:
            return found[0]
        if time.monotonic() >= end:
            break
        time.sleep(_LOOK_AGAIN_SECONDS)
    if names and os.path.exists(f"{host.dev}/{names[0]}"):
        return f"{host.dev}/{names[0]}"  # the link is that of the same disk in another session
    raise IscsiError(f"Timed out waiting for device at path {patterns[0]} after {DEVICE_SECONDS}s")


def link_patterns(disk: IscsiDisk, portal: str, transport: str) -> list[str]:
    """Names below /dev/disk/by-path, as patterns. udev has IPv6 addresses without brackets. Pure."""
    before = "" if transport == "tcp" else "pci-*-"
    after = f"-iscsi-{escape(disk.iqn)}-lun-{disk.lun}"
    forms = dict.fromkeys((portal, portal.replace("[", "").replace("]", "")))
    return [f"{before}ip-{escape(form)}{after}" for form in forms]


def _session(disk: IscsiDisk, portal: str, host: _Host) -> IscsiSession | None:
    return next((one for one in sessions(disk.iqn, disk.interface, host.sysfs) if portal in one.portals), None)


def _login(disk: IscsiDisk, portal: str, chap: Chap) -> None:
    """Raises IscsiError."""
    found = ("-m", "discoverydb", "-t", "sendtargets", "-p", portal, "-I", disk.interface)
    node = ("-m", "node", "-p", portal, "-T", disk.iqn, "-I", disk.interface)
    try_iscsiadm(*found, "-o", "new")
    try:
        _authenticate("discovery.sendtargets", found, chap.get("discovery"))
    except ProgramError:
        raise IscsiError(f"iscsi: failed to update discoverydb to portal {portal} with CHAP") from None
    try:
        iscsiadm(*found, "--discover")
    except ProgramError as error:
        try_iscsiadm(*found, "-o", "delete")
        raise IscsiError(f"iscsi: failed to sendtargets to portal {portal} output: {error}") from None
    try:
        _authenticate("node.session", node, chap.get("session"))
    except ProgramError:
        raise IscsiError(f"iscsi: failed to update iscsi node to portal {portal} with CHAP") from None
    try:
        iscsiadm(*node, "--login", good=(EXISTS,))
    except ProgramError as error:
        if error.status == STILL_RUNNING:  # the daemon goes on with it
            try_iscsiadm(*node, "--logout")
        try_iscsiadm(*node, "-o", "delete")
        raise IscsiError(f"iscsi: failed to attach disk: Error: {error}") from None
    try_iscsiadm(*node, "-o", "update", "-n", "node.startup", "-v", "manual")  # a boot must not wait for the target


def _authenticate(what: str, record: tuple[str, ...], settings: dict[str, str] | None) -> None:
    """Raises ProgramError, whose text may have the secret."""
    if settings is not None:
        for name, value in ((f"{what}.auth.authmethod", "CHAP"), *settings.items()):
            iscsiadm(*record, "-o", "update", "-n", name, "-v", value)


def _clone_interface(disk: IscsiDisk, shown: str) -> None:
    """Make the volume's own interface, with its initiator and the other settings of the source's. Raises
    IscsiError."""
    settings = {**settings_of(shown), "iface.initiatorname": disk.initiator}
    settings.pop("iface.iscsi_ifacename", None)
    own = ("-m", "iface", "-I", disk.interface)
    try:
        iscsiadm(*own, "-o", "new", good=(EXISTS,))
    except ProgramError as error:
        raise IscsiError(f"iscsi: failed to create new iface: {error}") from None
    try:
        for name, value in sorted(settings.items()):
            iscsiadm(*own, "-o", "update", "-n", name, "-v", value)
    except ProgramError as error:
        try_iscsiadm(*own, "-o", "delete")
        raise IscsiError(f"iscsi: failed to update iface records: {error}") from None


def _multipath(links: list[str], seconds: float, host: _Host) -> str:
    """The multipath device above the disks; '' if none appears within the time."""
    end = time.monotonic() + scaled(seconds)
    while True:
        for link in links:
            if found := scsi_devices.multipath_of(scsi_devices.real_name(link), host.sysfs):
                return f"{host.dev}/{found}"
        if time.monotonic() >= end:
            return ""
        time.sleep(_LOOK_AGAIN_SECONDS)
