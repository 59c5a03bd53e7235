"""The limits of a cgroup, and the files and systemd properties that set them on cgroup v1 and v2."""

from __future__ import annotations

from typing import Any

import msgspec

MIN_SHARES, MAX_SHARES = 2, 262144
MAX_WEIGHT = 10000
UNLIMITED = -1
_MICROSECONDS = 1_000_000

Write = tuple[str, str, str]
"""(controller, file, text)."""


class CgroupLimits(msgspec.Struct, frozen=True, kw_only=True):
    """The limits of a cgroup. None leaves a value unchanged; -1 removes a limit."""

    cpu_shares: int | None = None
    cpu_quota_us: int | None = None
    cpu_period_us: int = 100_000
    memory_bytes: int | None = None
    memory_min: int | None = None
    """Bytes that the kernel never reclaims (cgroup v2 only)."""
    memory_low: int | None = None
    """Bytes that the kernel reclaims last (cgroup v2 only)."""
    pids: int | None = None
    cpus: frozenset[int] | None = None
    """The usable CPUs (cgroup v2 only)."""
    hugetlb: dict[str, int] = {}
    """Bytes by page size as the kernel names it: 2MB, 1GB."""


def shares_to_weight(shares: int) -> int:
    """cpu.weight for cpu.shares, as in the kubelet for its cgroups (KEP-2254): proportional, so that pods get CPU time
    in proportion to their requests. Runtimes use another formula for containers."""
    if shares >= MAX_SHARES:
        return MAX_WEIGHT
    return 1 + (max(shares, MIN_SHARES) - MIN_SHARES) * (MAX_WEIGHT - 1) // (MAX_SHARES - MIN_SHARES)


def writes_v1(limits: CgroupLimits) -> list[Write]:
    found: list[Write] = []
    if limits.cpu_shares is not None:
        found.append(("cpu", "cpu.shares", str(limits.cpu_shares)))
    if limits.cpu_quota_us is not None:
        found.append(("cpu", "cpu.cfs_period_us", str(limits.cpu_period_us)))
        found.append(("cpu", "cpu.cfs_quota_us", str(limits.cpu_quota_us)))
    if limits.memory_bytes is not None:
        found.append(("memory", "memory.limit_in_bytes", str(limits.memory_bytes)))
    if limits.pids is not None:
        found.append(("pids", "pids.max", _or_max(limits.pids)))
    found += [("hugetlb", f"hugetlb.{size}.limit_in_bytes", str(value)) for size, value in limits.hugetlb.items()]
    return found


def writes_v2(limits: CgroupLimits) -> list[Write]:
    found: list[Write] = []
    if limits.cpu_shares is not None:
        found.append(("cpu", "cpu.weight", str(shares_to_weight(limits.cpu_shares))))
    if limits.cpu_quota_us is not None:
        found.append(("cpu", "cpu.max", f"{_or_max(limits.cpu_quota_us)} {limits.cpu_period_us}"))
    if limits.memory_bytes is not None:
        found.append(("memory", "memory.max", _or_max(limits.memory_bytes)))
    for file, value in (("memory.min", limits.memory_min), ("memory.low", limits.memory_low)):
        if value is not None:
            found.append(("memory", file, str(value)))
    if limits.pids is not None:
        found.append(("pids", "pids.max", _or_max(limits.pids)))
    if limits.cpus is not None:
        found.append(("cpuset", "cpuset.cpus", ",".join(map(str, sorted(limits.cpus)))))
    found += [("hugetlb", f"hugetlb.{size}.max", _or_max(value)) for size, value in limits.hugetlb.items()]
    return found


def unit_properties(limits: CgroupLimits, version: int) -> dict[str, tuple[str, Any]]:
    """The limits as properties of a systemd slice, because systemd would otherwise write its own values at the next
    reload (systemd.resource-control(5)): name to (D-Bus type, value)."""
    found: dict[str, tuple[str, Any]] = {}
    if limits.cpu_shares is not None:
        weight = shares_to_weight(limits.cpu_shares)
        found |= {"CPUShares": ("t", limits.cpu_shares)} if version == 1 else {"CPUWeight": ("t", weight)}
    if limits.cpu_quota_us is not None:
        found["CPUQuotaPerSecUSec"] = ("t", _quota_per_second(limits))
    if limits.memory_bytes is not None:
        found["MemoryLimit" if version == 1 else "MemoryMax"] = ("t", _or_infinity(limits.memory_bytes))
    for name, value in (("MemoryMin", limits.memory_min), ("MemoryLow", limits.memory_low)):
        if value is not None and version == 2:
            found[name] = ("t", value)
    if limits.pids is not None:
        found["TasksMax"] = ("t", _or_infinity(limits.pids))
    if limits.cpus is not None and version == 2:
        found["AllowedCPUs"] = ("ay", _bits(limits.cpus))
    return found


def _bits(cpus: frozenset[int]) -> bytes:
    """A bit for each CPU; CPU 0 is the lowest bit of the first byte."""
    whole = sum(1 << cpu for cpu in cpus)
    return whole.to_bytes((whole.bit_length() + 7) // 8, "little")


def _quota_per_second(limits: CgroupLimits) -> int:
    """systemd stores whole hundredths of a core; rounded up, so that the unit never has less than the pod's limit."""
    quota = limits.cpu_quota_us
    if quota is None or quota < 0:
        return _or_infinity(UNLIMITED)
    per_second = quota * _MICROSECONDS // limits.cpu_period_us
    return -(-per_second // 10_000) * 10_000


def _or_max(value: int) -> str:
    return "max" if value < 0 else str(value)


def _or_infinity(value: int) -> int:
    return (1 << 64) - 1 if value < 0 else value
