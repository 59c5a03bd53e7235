"""Usage figures of one cgroup, from its files on cgroup v1 and v2 (cgroups(7), cgroup-v2.rst).

A field is None if the kernel or the cgroup (v2's root) lacks the file: unknown is not zero.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

import msgspec

from actors.shared.linux.cgroup_tree import CgroupTree
from actors.shared.linux.psi import Psi, psi_of

from .disk_io import DiskIo, blkio_of, io_of

_NO_LIMIT: Final = 1 << 62
"""v1 writes the largest multiple of a page for no limit."""
_USER_HZ_NS: Final = 10_000_000
_PRESSURE: Final = ("cpu", "memory", "io")

Read = Callable[[str, str], str]
"""Controller and file to text. Raises OSError."""


class CgroupUsage(msgspec.Struct, frozen=True, kw_only=True):
    """Bytes, nanoseconds, counts. A limit is also None if there is none."""

    at: float
    """Seconds since 1970."""
    cpu_ns: int | None = None
    user_ns: int | None = None
    system_ns: int | None = None
    periods: int | None = None
    throttled_periods: int | None = None
    throttled_ns: int | None = None
    burst_periods: int | None = None
    burst_ns: int | None = None
    cpu_shares: int | None = None
    cpu_quota_us: int | None = None
    cpu_period_us: int | None = None
    memory_bytes: int | None = None
    working_set_bytes: int | None = None
    rss_bytes: int | None = None
    cache_bytes: int | None = None
    mapped_bytes: int | None = None
    active_file_bytes: int | None = None
    inactive_file_bytes: int | None = None
    max_bytes: int | None = None
    swap_bytes: int | None = None
    kernel_bytes: int | None = None
    reserved_bytes: int | None = None
    """Memory below this amount is not reclaimed."""
    failures: int | None = None
    page_faults: int | None = None
    major_page_faults: int | None = None
    own_page_faults: int | None = None
    """Without those of the cgroups below, on v1; v2 does not tell them apart."""
    own_major_page_faults: int | None = None
    oom_kills: int | None = None
    memory_limit_bytes: int | None = None
    swap_limit_bytes: int | None = None
    processes: int | None = None
    """Tasks, by the pids controller."""
    tasks_limit: int | None = None
    io: dict[str, DiskIo] = {}
    """By `major:minor` of the disk."""
    psi: dict[str, Psi] = {}


def read(tree: CgroupTree, cgroup: str, clock: Callable[[], float] = time.time) -> CgroupUsage:
    """Never raises: for a removed cgroup everything is unknown."""

    def file(controller: str, name: str) -> str:
        return tree.read(cgroup, controller, name)

    read_one = _read_v2 if tree.version == 2 else _read_v1
    return read_one(file, clock())


def working_set(tree: CgroupTree, cgroup: str) -> int | None:
    """The working set in bytes, as in CgroupUsage, from two files only. None: the cgroup is gone, or v2's root."""

    def file(controller: str, name: str) -> str:
        return tree.read(cgroup, controller, name)

    v2 = tree.version == 2
    used = _number(file, "memory", "memory.current" if v2 else "memory.usage_in_bytes")
    if used is None:
        return None
    return _less(used, _table(file, "memory", "memory.stat").get("inactive_file" if v2 else "total_inactive_file"))


def inactive_file(tree: CgroupTree, cgroup: str) -> int | None:
    """Bytes of inactive file pages; None: the cgroup is gone."""
    name = "inactive_file" if tree.version == 2 else "total_inactive_file"
    return _table(lambda controller, file: tree.read(cgroup, controller, file), "memory", "memory.stat").get(name)


def memory_limit(tree: CgroupTree, cgroup: str) -> int | None:
    """Bytes; None: there is no limit, or no such cgroup."""
    name = "memory.max" if tree.version == 2 else "memory.limit_in_bytes"
    return _limit(_number(lambda controller, file: tree.read(cgroup, controller, file), "memory", name))


def _read_v2(file: Read, now: float) -> CgroupUsage:
    cpu = _table(file, "cpu", "cpu.stat")
    memory = _table(file, "memory", "memory.stat")
    events = _table(file, "memory", "memory.events")
    used, inactive = _number(file, "memory", "memory.current"), memory.get("inactive_file")
    swap_limit = _number(file, "memory", "memory.swap.max")
    quota, period = _cpu_max(_text(file, "cpu", "cpu.max"))
    weight = _number(file, "cpu", "cpu.weight")
    return CgroupUsage(
        at=now,
        cpu_ns=_times(cpu.get("usage_usec"), 1000),
        user_ns=_times(cpu.get("user_usec"), 1000),
        system_ns=_times(cpu.get("system_usec"), 1000),
        periods=cpu.get("nr_periods"),
        throttled_periods=cpu.get("nr_throttled"),
        throttled_ns=_times(cpu.get("throttled_usec"), 1000),
        burst_periods=cpu.get("nr_bursts"),
        burst_ns=_times(cpu.get("burst_usec"), 1000),
        cpu_shares=None if weight is None else 2 + (weight - 1) * 262142 // 9999,
        cpu_quota_us=quota,
        cpu_period_us=period,
        memory_bytes=used,
        working_set_bytes=_less(used, inactive),
        rss_bytes=memory.get("anon"),
        cache_bytes=memory.get("file"),
        mapped_bytes=memory.get("file_mapped"),
        active_file_bytes=memory.get("active_file"),
        inactive_file_bytes=inactive,
        max_bytes=_number(file, "memory", "memory.peak"),
        swap_bytes=_number(file, "memory", "memory.swap.current"),
        kernel_bytes=memory.get("kernel"),
        reserved_bytes=_number(file, "memory", "memory.low"),
        failures=events.get("max"),
        page_faults=memory.get("pgfault"),
        major_page_faults=memory.get("pgmajfault"),
        own_page_faults=memory.get("pgfault"),
        own_major_page_faults=memory.get("pgmajfault"),
        oom_kills=events.get("oom_kill"),
        memory_limit_bytes=_limit(_number(file, "memory", "memory.max")),
        swap_limit_bytes=_limit(swap_limit),
        processes=_number(file, "pids", "pids.current"),
        tasks_limit=_number(file, "pids", "pids.max"),
        io=io_of(_text(file, "io", "io.stat")),
        psi={name: psi for name in _PRESSURE if (psi := psi_of(_text(file, name, f"{name}.pressure"))) is not None},
    )


def _read_v1(file: Read, now: float) -> CgroupUsage:
    times = _table(file, "cpuacct", "cpuacct.stat")
    cpu = _table(file, "cpu", "cpu.stat")
    memory = _table(file, "memory", "memory.stat")
    used, inactive = _number(file, "memory", "memory.usage_in_bytes"), memory.get("total_inactive_file")
    quota = _number(file, "cpu", "cpu.cfs_quota_us")
    limit = _limit(_number(file, "memory", "memory.limit_in_bytes"))
    with_swap = _limit(_number(file, "memory", "memory.memsw.limit_in_bytes"))
    return CgroupUsage(
        at=now,
        cpu_ns=_number(file, "cpuacct", "cpuacct.usage"),
        user_ns=_times(times.get("user"), _USER_HZ_NS),
        system_ns=_times(times.get("system"), _USER_HZ_NS),
        periods=cpu.get("nr_periods"),
        throttled_periods=cpu.get("nr_throttled"),
        throttled_ns=cpu.get("throttled_time"),
        burst_periods=cpu.get("nr_bursts"),
        burst_ns=cpu.get("burst_time"),
        cpu_shares=_number(file, "cpu", "cpu.shares"),
        cpu_quota_us=quota if quota is not None and quota > 0 else None,
        cpu_period_us=_number(file, "cpu", "cpu.cfs_period_us"),
        memory_bytes=used,
        working_set_bytes=_less(used, inactive),
        rss_bytes=memory.get("total_rss"),
        cache_bytes=memory.get("total_cache"),
        mapped_bytes=memory.get("total_mapped_file"),
        active_file_bytes=memory.get("total_active_file"),
        inactive_file_bytes=inactive,
        max_bytes=_number(file, "memory", "memory.max_usage_in_bytes"),
        swap_bytes=memory.get("total_swap"),
        kernel_bytes=_number(file, "memory", "memory.kmem.usage_in_bytes"),
        reserved_bytes=_limit(_number(file, "memory", "memory.soft_limit_in_bytes")),
        failures=_number(file, "memory", "memory.failcnt"),
        page_faults=memory.get("total_pgfault"),
        major_page_faults=memory.get("total_pgmajfault"),
        own_page_faults=memory.get("pgfault"),
        own_major_page_faults=memory.get("pgmajfault"),
        oom_kills=_table(file, "memory", "memory.oom_control").get("oom_kill"),
        memory_limit_bytes=limit,
        swap_limit_bytes=None if limit is None or with_swap is None else max(0, with_swap - limit),
        processes=_number(file, "pids", "pids.current"),
        tasks_limit=_number(file, "pids", "pids.max"),
        io=blkio_of(_throttle_text(file, "io_service_bytes"), _throttle_text(file, "io_serviced")),
    )


def _throttle_text(file: Read, name: str) -> str:
    """The throttled time with the cgroups below, where a pod's work is done; kernels before 4.18 count each by
    itself.
    """
    return _text(file, "blkio", f"blkio.throttle.{name}_recursive") or _text(file, "blkio", f"blkio.throttle.{name}")


def _text(file: Read, controller: str, name: str) -> str:
    try:
        return file(controller, name)
    except (OSError, UnicodeDecodeError):
        return ""


def _number(file: Read, controller: str, name: str) -> int | None:
    text = _text(file, controller, name)
    try:
        return int(text)
    except ValueError:
        return None  # nothing, or `max`


def _table(file: Read, controller: str, name: str) -> dict[str, int]:
    found: dict[str, int] = {}
    for line in _text(file, controller, name).splitlines():
        key, _, value = line.partition(" ")
        if value.isascii() and value.isdigit():
            found[key] = int(value)
    return found


def _cpu_max(text: str) -> tuple[int | None, int | None]:
    quota, _, period = text.partition(" ")
    return int(quota) if quota.isdigit() else None, int(period) if period.isdigit() else None


def _times(value: int | None, by: int) -> int | None:
    return None if value is None else value * by


def _less(used: int | None, inactive: int | None) -> int | None:
    return None if used is None else max(0, used - (inactive or 0))


def _limit(value: int | None) -> int | None:
    return None if value is None or value >= _NO_LIMIT else value
