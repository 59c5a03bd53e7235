"""The facts about this machine."""

from __future__ import annotations

from pathlib import Path

from actors.pod_workers.containers.machine import this_machine


def test_the_sizes_of_huge_pages_have_the_kernels_names(tmp_path: Path):
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/meminfo").write_text("MemTotal: 8 kB\n")
    for name in ("hugepages-1048576kB", "hugepages-2048kB", "hugepages-64kB"):
        (tmp_path / "sys/kernel/mm/hugepages" / name).mkdir(parents=True)
    assert this_machine(str(tmp_path)).page_sizes == ("64KB", "2MB", "1GB")
