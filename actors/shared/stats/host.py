"""Figures of the whole machine, from /proc (proc(5)) and psutil. These reads never block on a disk or a network."""

from __future__ import annotations

import os
import platform
from functools import cache
from pathlib import Path
from typing import Final

import msgspec
import psutil

from actors.shared.linux import kernel_files
from actors.shared.linux.memory import parse_meminfo
from actors.shared.linux.psi import Psi, psi_of

from .disk_io import DeviceIo, devices_of

_RECEIVED_BYTES, _RECEIVED_PACKETS, _RECEIVE_ERRORS, _RECEIVE_DROPS = 0, 1, 2, 3
_SENT_BYTES, _SENT_PACKETS, _SEND_ERRORS, _SEND_DROPS = 8, 9, 10, 11
_COLUMNS: Final = 12
_OF_CONTAINERS: Final = ("veth", "docker", "nerdctl")
"""Beginnings of the names of the host's ends and bridges of containers, whose traffic counts elsewhere, too. cAdvisor
leaves them out."""


class Interface(msgspec.Struct, frozen=True, kw_only=True):
    """Bytes, packets and so on since it was made."""

    name: str
    rx_bytes: int
    rx_packets: int
    rx_errors: int
    rx_drops: int
    tx_bytes: int
    tx_packets: int
    tx_errors: int
    tx_drops: int


class HostStats(msgspec.Struct, frozen=True, kw_only=True):
    """The machine. Times are seconds since 1970."""

    at: float
    boot: float
    memory: dict[str, int]
    """/proc/meminfo in bytes."""
    interfaces: list[Interface]
    default_interface: str
    max_pid: int | None
    """The most tasks that the node can have."""
    processes: int | None
    psi: dict[str, Psi]
    devices: dict[str, DeviceIo] = {}
    """Disks and partitions by `major:minor`."""


def read(at: float, proc: str = "/proc") -> HostStats:
    """Raises nothing: figures that the kernel does not have are empty."""
    return HostStats(
        at=at,
        boot=psutil.boot_time(),
        memory=parse_meminfo(_text(f"{proc}/meminfo")),
        interfaces=interfaces(_text(f"{proc}/self/net/dev")),
        default_interface=default_interface(_text(f"{proc}/self/net/route")),
        max_pid=_most_tasks(f"{proc}/sys/kernel"),
        processes=_integer(_text(f"{proc}/loadavg").partition("/")[2].partition(" ")[0]),
        psi={
            name: psi
            for name in ("cpu", "memory", "io")
            if (psi := psi_of(_text(f"{proc}/pressure/{name}"))) is not None
        },
        devices=devices_of(_text(f"{proc}/diskstats")),
    )


def network_of(pid: int, proc: str = "/proc") -> tuple[list[Interface], str]:
    """The interfaces of a process's network namespace, and the interface of its default route; none when it is gone."""
    found = interfaces(_text(f"{proc}/{pid}/net/dev"))
    return found, default_interface(_text(f"{proc}/{pid}/net/route")) if found else ""


def interfaces(text: str) -> list[Interface]:
    """/proc/net/dev without the loopback and those of containers."""
    found = []
    for line in text.splitlines():
        name, colon, rest = line.partition(":")
        words = rest.split()
        if not colon or len(words) < _COLUMNS or not all(word.isdigit() for word in words):
            continue
        if name.strip() == "lo" or name.strip().lower().startswith(_OF_CONTAINERS):
            continue
        count = [int(word) for word in words]
        found.append(
            Interface(
                name=name.strip(),
                rx_bytes=count[_RECEIVED_BYTES],
                rx_packets=count[_RECEIVED_PACKETS],
                rx_errors=count[_RECEIVE_ERRORS],
                rx_drops=count[_RECEIVE_DROPS],
                tx_bytes=count[_SENT_BYTES],
                tx_packets=count[_SENT_PACKETS],
                tx_errors=count[_SEND_ERRORS],
                tx_drops=count[_SEND_DROPS],
            )
        )
    return found


def default_interface(text: str) -> str:
    """/proc/net/route: the interface of the route to everywhere, '' without one."""
    for line in text.splitlines()[1:]:
        words = line.split()
        if len(words) > 1 and words[1] == "00000000":
            return words[0]
    return ""


class MachineInfo(msgspec.Struct, frozen=True, kw_only=True):
    """The facts that do not change while the agent runs."""

    machine_id: str
    system_uuid: str
    boot_id: str
    kernel: str
    os_image: str
    cores: int
    physical_cores: int
    sockets: int
    disks: dict[str, str]
    """Path of each disk, `/dev/sda`, by `major:minor`."""


@cache
def machine(root: str = "") -> MachineInfo:
    """Read once. Raises nothing."""
    cpuinfo = _text(f"{root}/proc/cpuinfo")
    fields = [(key.strip(), value.strip()) for key, _, value in (line.partition(":") for line in cpuinfo.splitlines())]
    packages = {value for key, value in fields if key == "physical id"}
    return MachineInfo(
        machine_id=_text(f"{root}/etc/machine-id").strip(),
        system_uuid=_text(f"{root}/sys/class/dmi/id/product_uuid").strip(),
        boot_id=kernel_files.boot_id(root),
        kernel=platform.release(),
        os_image=_os_image(_text(f"{root}/etc/os-release")),
        cores=psutil.cpu_count() or 1,
        physical_cores=psutil.cpu_count(logical=False) or psutil.cpu_count() or 1,
        sockets=len(packages) or 1,
        disks=disks(f"{root}/sys/dev/block"),
    )


def disks(directory: str) -> dict[str, str]:
    """The disks in /sys/dev/block, whose links are named `major:minor` and end in the disk's name."""
    found = {}
    try:
        for number in os.listdir(directory):
            found[number] = "/dev/" + os.readlink(f"{directory}/{number}").rpartition("/")[2]
    except OSError:
        return found  # none, or one has gone
    return found


def _os_image(text: str) -> str:
    for line in text.splitlines():
        key, _, value = line.partition("=")
        if key == "PRETTY_NAME":
            return value.strip('"')
    return ""


def _most_tasks(kernel: str) -> int | None:
    """Two settings limit the number of tasks; the lower one holds (proc(5))."""
    limits = [_integer(_text(f"{kernel}/{name}")) for name in ("pid_max", "threads-max")]
    return min((limit for limit in limits if limit is not None), default=None)


def _integer(text: str) -> int | None:
    text = text.strip()
    return int(text) if text.isascii() and text.isdigit() else None


def _text(path: str) -> str:
    try:
        return Path(path).read_text("utf-8", "replace")
    except OSError:
        return ""
