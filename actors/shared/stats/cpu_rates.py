"""The CPU rate of each cgroup, from two values of its CPU time."""

from __future__ import annotations

from typing import Final

from .cgroup_usage import CgroupUsage

RATE_SECONDS: Final = 600.0
"""A rate is not computed from a value older than this."""


class CpuRates:
    """Rates in nanocores, by path of the cgroup."""

    def __init__(self) -> None:
        self._last: dict[str, tuple[float, int]] = {}
        """Seconds since 1970, and CPU time in nanoseconds."""
        self._rates: dict[str, int] = {}

    def rate_of(self, path: str, usage: CgroupUsage) -> int | None:
        """The rate after this usage. The last one, if it has the same time or no CPU time; None without two values."""
        if usage.cpu_ns is not None:
            before = self._last.get(path)
            if before is not None and before[0] == usage.at:
                return self._rates.get(path)
            self._last[path] = (usage.at, usage.cpu_ns)
            if before is not None and 0 < usage.at - before[0] <= RATE_SECONDS and usage.cpu_ns >= before[1]:
                self._rates[path] = int((usage.cpu_ns - before[1]) / (usage.at - before[0]))
            elif before is not None:
                self._rates.pop(path, None)
        return self._rates.get(path)

    def forget_old(self, now: float) -> None:
        """Forget cgroups without a recent value. `now`: seconds since 1970."""
        gone = [path for path, (at, _) in self._last.items() if not 0 <= now - at <= RATE_SECONDS]
        for path in gone:
            self._last.pop(path)
            self._rates.pop(path, None)
