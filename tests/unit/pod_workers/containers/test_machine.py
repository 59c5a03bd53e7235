"""The facts about this machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from actors.pod_workers.containers.machine import this_machine


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/meminfo").write_text("MemTotal: 8 kB\n")
    (tmp_path / "proc/self/cgroup").write_text("0::/\n")
    (tmp_path / "sys/fs/cgroup").mkdir(parents=True)
    for name in ("hugepages-1048576kB", "hugepages-2048kB", "hugepages-64kB"):
        (tmp_path / "sys/kernel/mm/hugepages" / name).mkdir(parents=True)
    return tmp_path


def test_the_sizes_of_huge_pages_have_the_kernels_names(root: Path):
    (root / "sys/fs/cgroup/hugetlb").mkdir()
    assert this_machine(str(root)).page_sizes == ("64KB", "2MB", "1GB")


@pytest.mark.parametrize(("controllers", "limits"), [("cpu hugetlb pids\n", True), ("cpu pids\n", False), ("", False)])
def test_huge_pages_are_limited_where_the_kernel_can_limit_them(root: Path, controllers: str, limits: bool):
    if controllers:  # else cgroup v1, without the hierarchy of hugetlb
        (root / "sys/fs/cgroup/cgroup.controllers").write_text(controllers)
    assert bool(this_machine(str(root)).page_sizes) is limits
