"""The container_fs_* and container_blkio_* series of /metrics/cadvisor. Pure.

The node's rows (cgroup `/`) show the disks of the agent, of images and of containers; a container's rows show the I/O
of its cgroup and the size of its writable layer.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from actors.http_servers.exposition.text_format import Row
from actors.shared.stats.disk_io import DeviceIo, DiskIo, IoCost
from actors.shared.stats.sample import Disk, UsageSample

from .cgroup_rows import CgroupRow, Labels, metric

_CGROUP: Final[tuple[tuple[str, Callable[[DiskIo], int]], ...]] = (
    ("reads_bytes", lambda io: io.read_bytes),
    ("writes_bytes", lambda io: io.write_bytes),
    ("reads", lambda io: io.reads),
    ("writes", lambda io: io.writes),
)
_NODE: Final[tuple[tuple[str, Callable[[DeviceIo], float]], ...]] = (
    ("reads_merged_total", lambda io: io.reads_merged),
    ("writes_merged_total", lambda io: io.writes_merged),
    ("sector_reads_total", lambda io: io.sectors_read),
    ("sector_writes_total", lambda io: io.sectors_written),
    ("read_seconds_total", lambda io: io.read_ms / 1e3),
    ("write_seconds_total", lambda io: io.write_ms / 1e3),
    ("io_current", lambda io: io.in_progress),
    ("io_time_seconds_total", lambda io: io.io_ms / 1e3),
    ("io_time_weighted_seconds_total", lambda io: io.weighted_io_ms / 1e3),
)
_COST: Final[tuple[tuple[str, Callable[[IoCost], int]], ...]] = (
    ("usage", lambda cost: cost.usage_us),
    ("wait", lambda cost: cost.wait_us),
    ("indebt", lambda cost: cost.indebt_us),
    ("indelay", lambda cost: cost.indelay_us),
)
_SECTOR: Final = 512


def chunks(sample: UsageSample, names: Mapping[str, str], found: Sequence[CgroupRow]) -> Iterator[str]:
    """The series, one metric after the other. `names`: the path of each disk by `major:minor`; `found`: the rows, the
    node's first."""
    stores = {_name(disk, names): disk for disk in (sample.node_fs, sample.image_fs, sample.container_fs) if disk}
    node = found[0].labels
    yield from _usage(sample, names, stores, found)
    moved = [(number, row.labels, io) for row in found[1:] for number, io in row.measured.usage.io.items()]
    of_node = [
        (number, node, DiskIo(io.sectors_read * _SECTOR, io.sectors_written * _SECTOR, io.reads, io.writes))
        for number, io in sample.host.devices.items()
        if names.get(number) in stores
    ]
    rows = [({**labels, "device": names.get(number, number)}, number, io) for number, labels, io in (*of_node, *moved)]
    for name, value in _CGROUP:
        yield metric(f"container_fs_{name}_total", [(labels, value(io)) for labels, _, io in rows], sample.at)
    for name, cost in _COST:
        costs: list[Row] = [(labels, cost(io.cost) / 1e6) for labels, _, io in rows if io.cost is not None]
        yield metric(f"container_fs_io_cost_{name}_seconds_total", costs, sample.at)
    for name, figure in _NODE:
        whole: list[Row] = [
            ({**node, "device": names[number]}, figure(io))
            for number, io in sample.host.devices.items()
            if names.get(number) in stores
        ]
        yield metric(f"container_fs_{name}", whole, sample.at)
    yield metric("container_blkio_device_usage_total", [one for row in rows for one in _operations(*row)], sample.at)


def _operations(labels: Labels, number: str, io: DiskIo) -> list[Row]:
    major, _, minor = number.partition(":")
    moved = (("Read", io.read_bytes), ("Write", io.write_bytes))
    return [({**labels, "major": major, "minor": minor, "operation": operation}, size) for operation, size in moved]


def _usage(
    sample: UsageSample, names: Mapping[str, str], stores: Mapping[str, Disk], found: Sequence[CgroupRow]
) -> Iterator[str]:
    """The usage of the node's file systems, or of a container's writable layer."""
    rows: list[tuple[Labels, Disk]] = [({**found[0].labels, "device": name}, disk) for name, disk in stores.items()]
    device = _name(sample.container_fs, names)
    rows += [
        ({**row.labels, "device": device}, {**sample.container_fs, "used_bytes": row.layer.used_bytes})
        for row in found
        if row.layer is not None
    ]
    for name, key in (
        ("usage_bytes", "used_bytes"),
        ("limit_bytes", "capacity_bytes"),
        ("inodes_free", "inodes_free"),
        ("inodes_total", "inodes"),
    ):
        known: list[Row] = [(labels, disk[key]) for labels, disk in rows if disk.get(key) is not None]
        yield metric(f"container_fs_{name}", known, sample.at)


def _name(disk: Disk, names: Mapping[str, str]) -> str:
    """The path of a file system's disk; without a disk, the mounted source."""
    device = disk.get("device", 0)
    number = f"{os.major(device)}:{os.minor(device)}"
    return names.get(number) or str(disk.get("source", number))
