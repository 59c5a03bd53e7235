"""What a sample holds of a container."""

from __future__ import annotations

from actors.shared.cri.stats import ContainerStats, CpuUsage, Memory
from actors.shared.linux.psi import Pressure, Psi
from actors.shared.stats.sample import usage_of


def test_a_container_without_a_cgroup_has_the_runtimes_figures_of_pressure() -> None:
    cpu, memory, io = (Psi(some=Pressure(total)) for total in (1, 2, 3))
    stats = ContainerStats(
        id="c", name="main", cpu=CpuUsage(at_ns=1, psi=cpu), memory=Memory(at_ns=1, psi=memory), io_psi=io
    )
    assert usage_of(stats, 0.0).psi == {"cpu": cpu, "memory": memory, "io": io}


def test_pressure_that_the_runtime_does_not_report_is_unknown() -> None:
    stats = ContainerStats(id="c", name="main", cpu=CpuUsage(at_ns=1))
    assert usage_of(stats, 0.0).psi == {}
