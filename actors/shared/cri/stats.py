"""Resource usage of containers and the image store, measured by the runtime.

None: the runtime does not report it. Times are nanoseconds since 1970; each group has its own time of measurement.
"""

from __future__ import annotations

import msgspec

from actors.shared.linux.psi import Psi


class CpuUsage(msgspec.Struct, frozen=True, kw_only=True):
    at_ns: int
    usage_core_ns: int | None = None
    """CPU time since the start. The rate is derived from it: runtimes differ in when they compute theirs."""
    psi: Psi | None = None


class Memory(msgspec.Struct, frozen=True, kw_only=True):
    at_ns: int
    working_set_bytes: int | None = None
    usage_bytes: int | None = None
    rss_bytes: int | None = None
    page_faults: int | None = None
    major_page_faults: int | None = None
    psi: Psi | None = None


class Swap(msgspec.Struct, frozen=True, kw_only=True):
    at_ns: int
    usage_bytes: int | None = None


class FileSystem(msgspec.Struct, frozen=True, kw_only=True):
    """Bytes and inodes used on the file system at `mountpoint` (for an image store: by it)."""

    at_ns: int
    mountpoint: str
    used_bytes: int | None = None
    inodes_used: int | None = None


class ContainerStats(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    name: str
    pod_uid: str = ""
    cpu: CpuUsage | None = None
    memory: Memory | None = None
    swap: Swap | None = None
    writable_layer: FileSystem | None = None
    io_psi: Psi | None = None


class ImageFileSystems(msgspec.Struct, frozen=True):
    """File systems of images and of writable layers; the second is empty when they are the same."""

    images: list[FileSystem]
    containers: list[FileSystem] = []
