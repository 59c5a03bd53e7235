"""Converts the runtime's statistics to the values of stats.py. Pure."""

from __future__ import annotations

from typing import Final

from google.protobuf.message import Message

from actors.shared.kube.names import POD_UID_LABEL
from actors.shared.linux.psi import Pressure, Psi
from proto import cri_pb2 as cri

from .stats import (
    ContainerStats,
    CpuUsage,
    FileSystem,
    ImageFileSystems,
    Memory,
    Swap,
)

MOST: Final = 2**62
"""The largest plausible number: 4 EiB, or 146 years in nanoseconds."""


def _number(message: Message, field: str) -> int | None:
    """The value of a wrapped number that may be unset; None for one that nothing can have, as of a counter below zero:
    a pod must not be evicted for it."""
    value = int(getattr(message, field).value) if message.HasField(field) else None
    return None if value is None or value > MOST else value


def _pressure(data: cri.PsiData) -> Pressure:
    return Pressure(data.Total, data.Avg10, data.Avg60, data.Avg300)


def _psi(usage: cri.CpuUsage | cri.MemoryUsage | cri.IoUsage) -> Psi | None:
    return Psi(_pressure(usage.psi.Some), _pressure(usage.psi.Full)) if usage.HasField("psi") else None


def _cpu(usage: cri.CpuUsage) -> CpuUsage:
    return CpuUsage(
        at_ns=usage.timestamp,
        usage_core_ns=_number(usage, "usage_core_nano_seconds"),
        psi=_psi(usage),
    )


def _memory(usage: cri.MemoryUsage) -> Memory:
    return Memory(
        at_ns=usage.timestamp,
        working_set_bytes=_number(usage, "working_set_bytes"),
        usage_bytes=_number(usage, "usage_bytes"),
        rss_bytes=_number(usage, "rss_bytes"),
        page_faults=_number(usage, "page_faults"),
        major_page_faults=_number(usage, "major_page_faults"),
        psi=_psi(usage),
    )


def _swap(usage: cri.SwapUsage) -> Swap:
    return Swap(
        at_ns=usage.timestamp,
        usage_bytes=_number(usage, "swap_usage_bytes"),
    )


def _file_system(usage: cri.FilesystemUsage) -> FileSystem:
    return FileSystem(
        at_ns=usage.timestamp,
        mountpoint=usage.fs_id.mountpoint,
        used_bytes=_number(usage, "used_bytes"),
        inodes_used=_number(usage, "inodes_used"),
    )


def container_stats(stats: cri.ContainerStats) -> ContainerStats:
    """Statistics of one container; groups that the runtime leaves out (a stopped container) are None."""
    attributes = stats.attributes
    return ContainerStats(
        id=attributes.id,
        name=attributes.metadata.name,
        pod_uid=attributes.labels.get(POD_UID_LABEL, ""),
        cpu=_cpu(stats.cpu) if stats.HasField("cpu") else None,
        memory=_memory(stats.memory) if stats.HasField("memory") else None,
        swap=_swap(stats.swap) if stats.HasField("swap") else None,
        writable_layer=_file_system(stats.writable_layer) if stats.HasField("writable_layer") else None,
        io_psi=_psi(stats.io),
    )


def image_file_systems(response: cri.ImageFsInfoResponse) -> ImageFileSystems:
    return ImageFileSystems(
        [_file_system(usage) for usage in response.image_filesystems],
        [_file_system(usage) for usage in response.container_filesystems],
    )
