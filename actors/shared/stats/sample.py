"""A sample: the figures of the node and its pods at one time. Data only."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import msgspec

from actors.shared.cri.model import CriContainer, Sandbox
from actors.shared.cri.stats import ContainerStats, FileSystem

from .cgroup_usage import CgroupUsage
from .host import HostStats, Interface


class Network(msgspec.Struct, frozen=True):
    """A network namespace; `default` is the interface of the default route."""

    interfaces: list[Interface]
    default: str = ""


class CgroupSample(msgspec.Struct, frozen=True):
    """A cgroup with its usage. `nano_cores`: recent usage in cores x 10^9; None after a single reading."""

    path: str
    usage: CgroupUsage
    nano_cores: int | None = None
    created: float = 0.0
    """When it was created, in seconds since 1970; for cgroups of the node; 0: not known."""


class ContainerSample(msgspec.Struct, frozen=True):
    container: CriContainer
    measured: CgroupSample
    layer: FileSystem | None = None
    """Its writable layer."""


class PodSample(msgspec.Struct, frozen=True):
    """`measured` is the pod's cgroup; None without one."""

    sandbox: Sandbox
    measured: CgroupSample | None
    sandbox_measured: CgroupSample | None
    containers: list[ContainerSample]
    network: Network | None = None
    """None: the host's network, or unknown."""

    @property
    def usage(self) -> CgroupSample | None:
        """What the pod uses: its cgroup's figures, or the sums of its containers; None: there are none."""
        if self.measured is not None or not self.containers:
            return self.measured
        parts = [one.measured for one in self.containers]
        summed: dict[str, Any] = {name: _sum(getattr(one.usage, name) for one in parts) for name in _SUMMED}
        usage = CgroupUsage(at=max(one.usage.at for one in parts), **summed)
        return CgroupSample("", usage, _sum(one.nano_cores for one in parts))


_SUMMED: Final = (
    "cpu_ns", "memory_bytes", "working_set_bytes", "rss_bytes", "page_faults", "major_page_faults", "swap_bytes",
)  # fmt: skip


def _sum(values: Iterable[int | None]) -> int | None:
    """The sum of the known values; None: no value is known."""
    known = [value for value in values if value is not None]
    return sum(known) if known else None


Disk = dict[str, Any]
"""`used_bytes`, `inodes_used`, and the figures of a file system (see disk.py)."""


class UsageSample(msgspec.Struct, frozen=True, kw_only=True):
    """`at`: seconds since 1970."""

    at: float
    host: HostStats
    root: CgroupSample
    tiers: list[CgroupSample]
    system: dict[str, CgroupSample]
    """kubelet, runtime, misc."""
    pods: list[PodSample]
    disks: dict[str, Disk] = {}
    """By the pod's UID: its `volumes`, `logs` and `own`, and `at`, when they were measured."""
    disks_at: float = 0.0
    node_fs: Disk = {}
    image_fs: Disk = {}
    container_fs: Disk = {}


def usage_of(stats: ContainerStats, at: float) -> CgroupUsage:
    """The runtime's figures, if the cgroup is not found. `at` is their time if the runtime reports none."""
    cpu, memory, swap = stats.cpu, stats.memory, stats.swap
    pressure = {"cpu": cpu.psi if cpu else None, "memory": memory.psi if memory else None, "io": stats.io_psi}
    return CgroupUsage(
        at=cpu.at_ns / 1e9 if cpu and cpu.at_ns else at,
        cpu_ns=cpu.usage_core_ns if cpu else None,
        memory_bytes=memory.usage_bytes if memory else None,
        working_set_bytes=memory.working_set_bytes if memory else None,
        rss_bytes=memory.rss_bytes if memory else None,
        page_faults=memory.page_faults if memory else None,
        major_page_faults=memory.major_page_faults if memory else None,
        swap_bytes=swap.usage_bytes if swap else None,
        psi={name: psi for name, psi in pressure.items() if psi is not None},
    )
