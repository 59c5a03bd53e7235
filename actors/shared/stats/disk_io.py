"""Reads and writes of disks: by one cgroup, from v1's and v2's files, and in all, from /proc/diskstats. Pure."""

from __future__ import annotations

from typing import Final

import msgspec

_SECTOR_FIELDS: Final = 14
"""Columns of a line of /proc/diskstats up to the weighted time (Documentation/admin-guide/iostats.rst)."""
_CRITERIA: Final = ("usage", "wait", "indebt", "indelay")


class IoCost(msgspec.Struct, frozen=True):
    """The figures of the I/O cost controller (v2's `cost.*`), in microseconds."""

    usage_us: int = 0
    wait_us: int = 0
    indebt_us: int = 0
    indelay_us: int = 0


class DiskIo(msgspec.Struct, frozen=True):
    """A disk: bytes and operations since the cgroup was created."""

    read_bytes: int = 0
    write_bytes: int = 0
    reads: int = 0
    writes: int = 0
    cost: IoCost | None = None
    """None: no cost is counted for the disk."""


class DeviceIo(msgspec.Struct, frozen=True):
    """A disk or partition since the boot: operations, sectors of 512 bytes, milliseconds."""

    reads: int
    reads_merged: int
    sectors_read: int
    read_ms: int
    writes: int
    writes_merged: int
    sectors_written: int
    write_ms: int
    in_progress: int
    io_ms: int
    weighted_io_ms: int


def io_of(text: str) -> dict[str, DiskIo]:
    """io.stat of v2: `8:0 rbytes=1 wbytes=2 rios=3 wios=4 dbytes=0 dios=0 cost.usage=5`. Lines of another form are
    left out."""
    found = {}
    for line in text.splitlines():
        disk, *pairs = line.split() or [""]
        values = dict(pair.split("=", 1) for pair in pairs if "=" in pair)
        try:
            sizes = int(values["rbytes"]), int(values["wbytes"])
            counts = int(values["rios"]), int(values["wios"])
            cost = [int(values.get(f"cost.{name}", 0)) for name in _CRITERIA]
        except (KeyError, ValueError):
            continue
        found[disk] = DiskIo(*sizes, *counts, IoCost(*cost) if "cost.usage" in values else None)
    return found


def blkio_of(sizes: str, counts: str) -> dict[str, DiskIo]:
    """The two files of v1: lines `8:0 Read 1`."""
    tables = [_blkio(sizes), _blkio(counts)]
    found = {}
    for disk in dict.fromkeys(disk for table in tables for disk, _ in table):
        read, write, reads, writes = (table.get((disk, way), 0) for table in tables for way in ("Read", "Write"))
        found[disk] = DiskIo(read, write, reads, writes)
    return found


def _blkio(text: str) -> dict[tuple[str, str], int]:
    words = [line.split() for line in text.splitlines()]
    return {(one[0], one[1]): int(one[2]) for one in words if len(one) == 3 and _is_number(one[2])}


def devices_of(text: str) -> dict[str, DeviceIo]:
    """/proc/diskstats by `major:minor`. Lines of another form are left out."""
    found = {}
    for line in text.splitlines():
        words = line.split()
        numbers = [*words[:2], *words[3:_SECTOR_FIELDS]]
        if len(words) >= _SECTOR_FIELDS and all(map(_is_number, numbers)):
            found[f"{words[0]}:{words[1]}"] = DeviceIo(*(int(word) for word in numbers[2:]))
    return found


def _is_number(word: str) -> bool:
    return word.isascii() and word.isdigit()
