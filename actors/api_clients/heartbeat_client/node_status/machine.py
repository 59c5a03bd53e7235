"""The host's facts: /etc/machine-id, DMI, /proc, os-release."""

from __future__ import annotations

import platform
import re
from pathlib import Path
from typing import Final

from actors.shared.linux import kernel_files
from actors.shared.linux.architecture import architecture

from .facts import NodeSystemInfo

_OS_RELEASE: Final = ("etc/os-release", "usr/lib/os-release")
_MACHINE_ID: Final = ("etc/machine-id", "var/lib/dbus/machine-id")
_PRETTY_NAME: Final = re.compile(r"^PRETTY_NAME=(.*)$", re.MULTILINE)


def read_machine(root: str = "/") -> NodeSystemInfo:
    """Read the facts of the host whose file system is at `root`. Facts that cannot be read are empty, as in the
    kubelet."""
    place = Path(root)
    machine_id = next((text for path in _MACHINE_ID if (text := _read(place / path))), "")
    return NodeSystemInfo(
        machine_id=machine_id,
        system_uuid=_system_uuid(place) or machine_id,
        boot_id=kernel_files.boot_id(root),
        kernel=platform.release(),
        os_image=_os_image(place),
        architecture=architecture(),
        swap_bytes=_swap(_read(place / "proc/meminfo")),
    )


def _system_uuid(place: Path) -> str:
    return _read(place / "sys/class/dmi/id/product_uuid") or _read(place / "proc/device-tree/vm,uuid").strip("\0")


def _os_image(place: Path) -> str:
    for path in _OS_RELEASE:
        found = _PRETTY_NAME.search(_read(place / path))
        if found:
            return found[1].strip().strip("\"'")
    return "Linux"


def _swap(meminfo: str) -> int:
    found = re.search(r"^SwapTotal:\s+([0-9]+) kB$", meminfo, re.MULTILINE)
    return int(found[1]) * 1024 if found else 0


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8", "replace").strip()
    except OSError:
        return ""
