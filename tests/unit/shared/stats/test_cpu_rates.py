"""The CPU rate of a cgroup, from two values of its CPU time."""

from __future__ import annotations

from actors.shared.stats.cgroup_usage import CgroupUsage
from actors.shared.stats.cpu_rates import RATE_SECONDS, CpuRates


def usage(at: float, cpu_ns: int | None) -> CgroupUsage:
    return CgroupUsage(at=at, cpu_ns=cpu_ns)


def test_a_rate_needs_two_values() -> None:
    rates = CpuRates()
    assert rates.rate_of("/a", usage(10.0, 1_000)) is None
    assert rates.rate_of("/a", usage(12.0, 5_000)) == 2_000
    assert rates.rate_of("/b", usage(12.0, 5_000)) is None


def test_a_value_of_the_same_time_keeps_the_rate() -> None:
    rates = CpuRates()
    rates.rate_of("/a", usage(10.0, 0))
    rates.rate_of("/a", usage(11.0, 500))
    assert rates.rate_of("/a", usage(11.0, 500)) == 500
    assert rates.rate_of("/a", usage(12.0, None)) == 500


def test_an_old_or_larger_value_gives_no_rate() -> None:
    rates = CpuRates()
    rates.rate_of("/a", usage(10.0, 500))
    assert rates.rate_of("/a", usage(11.0, 100)) is None
    assert rates.rate_of("/a", usage(11.0 + RATE_SECONDS + 1, 200)) is None


def test_a_cgroup_without_a_recent_value_is_forgotten() -> None:
    rates = CpuRates()
    rates.rate_of("/a", usage(10.0, 0))
    rates.rate_of("/a", usage(11.0, 500))
    rates.forget_old(11.0 + RATE_SECONDS)
    assert rates.rate_of("/a", usage(11.0, 500)) == 500
    rates.forget_old(12.0 + RATE_SECONDS)
    assert rates.rate_of("/a", usage(13.0, 600)) is None
