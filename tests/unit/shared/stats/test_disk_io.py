"""What the kernel says of reads and writes."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.shared.linux.cgroup_hierarchy import Hierarchy
from actors.shared.linux.cgroup_tree import CgroupTree
from actors.shared.stats.cgroup_usage import read
from actors.shared.stats.disk_io import DeviceIo, DiskIo, IoCost, blkio_of, devices_of, io_of


def test_disk_io_is_read_in_both_formats():
    assert io_of("8:0 rbytes=1 wbytes=2 rios=3 wios=4 dbytes=0 dios=0\n8:16\nodd\n") == {"8:0": DiskIo(1, 2, 3, 4)}
    sizes = "8:0 Read 1\n8:0 Write 2\n8:0 Total 3\nTotal 3\n"
    counts = "8:0 Read 3\n8:0 Write 4\n8:16 Read 5\nTotal 12\n"
    assert blkio_of(sizes, counts) == {"8:0": DiskIo(1, 2, 3, 4), "8:16": DiskIo(0, 0, 5, 0)}


def test_io_cost_figures_are_read_if_the_kernel_counts_them():
    (found,) = io_of(
        "8:0 rbytes=1 wbytes=2 rios=3 wios=4 cost.usage=5 cost.wait=6 cost.indebt=7 cost.indelay=8"
    ).values()
    assert found.cost == IoCost(5, 6, 7, 8)


def test_a_device_is_read_with_or_without_the_columns_of_later_kernels():
    line = "   8       1 sda1 10 1 80 5 20 2 160 6 1 9 11"
    expected = {"8:1": DeviceIo(10, 1, 80, 5, 20, 2, 160, 6, 1, 9, 11)}
    assert devices_of(line) == devices_of(f"{line} 1 2 3 4 5 6\nodd\n 8 2 sda2 1\n") == expected


@given(st.text())
def test_any_text_is_read_as_disk_io_without_an_error(text):
    io_of(text)
    blkio_of(text, text)
    devices_of(text)


@pytest.mark.parametrize(("below", "expected"), [(True, 4096), (False, 1)])
def test_a_pod_is_counted_with_its_containers_where_the_kernel_does(tmp_path: Path, below: bool, expected: int):
    pod = tmp_path / "pod"
    pod.mkdir()
    (pod / "blkio.throttle.io_service_bytes").write_text("8:0 Write 1\n")
    if below:
        (pod / "blkio.throttle.io_service_bytes_recursive").write_text("8:0 Write 4096\n")
    cgroups = CgroupTree((Hierarchy(str(tmp_path), frozenset({"blkio"}), False),))
    assert read(cgroups, "/pod").io["8:0"].write_bytes == expected
