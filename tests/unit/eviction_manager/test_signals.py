"""What is left of a host, real and made up."""

import os

import pytest

from actors.eviction_manager.resources import Layout, Reclaim, reclaims
from actors.eviction_manager.signals import disk_signals, layout_of, memory_signals, pid_signals, read_disks
from actors.eviction_manager.thresholds import Observation
from actors.shared.linux.cgroup_tree import CgroupTree, Hierarchy, find

KIB = 1024


def made_up(root, **files):
    for name, text in {
        "meminfo": "MemTotal: 1000 kB\nMemFree: 300 kB\nMemAvailable: 1 kB\nInactive(file): 50 kB\n",
        "loadavg": "0.00 0.01 0.05 1/123 4567\n",
        "sys/kernel/pid_max": "32768\n",
        "sys/kernel/threads-max": "10000\n",
        **files,
    }.items():
        path = root / "proc" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return str(root)


def tree(root, *, unified, cgroups):
    base = root / "cgroup"
    for path, files in cgroups.items():
        (base / path).mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (base / path / name).write_text(text)
    return CgroupTree((Hierarchy(str(base), frozenset({"memory"}), unified),))


def test_memory_of_v2_is_what_is_free_and_inactive_pages_of_files(tmp_path):
    host, cgroups = made_up(tmp_path), tree(tmp_path, unified=True, cgroups={"": {"memory.stat": "anon 5"}})
    assert memory_signals(cgroups, "", host) == {"memory.available": Observation(350 * KIB, 1000 * KIB)}


def test_memory_of_v1_is_what_the_root_cgroup_does_not_need(tmp_path):
    root = {"memory.usage_in_bytes": str(600 * KIB), "memory.stat": f"inactive_file 1\ntotal_inactive_file {200 * KIB}"}
    found = memory_signals(tree(tmp_path, unified=False, cgroups={"": root}), "", made_up(tmp_path))
    assert found == {"memory.available": Observation(600 * KIB, 1000 * KIB)}


def test_memory_of_all_pods_is_what_their_limit_leaves(tmp_path):
    pods = {"memory.max": "1000", "memory.current": "700", "memory.stat": "inactive_file 100"}
    cgroups = tree(tmp_path, unified=True, cgroups={"kubepods": pods})
    found = memory_signals(cgroups, "/kubepods", made_up(tmp_path))
    assert found["allocatableMemory.available"] == Observation(400, 1000)
    (tmp_path / "cgroup/kubepods/memory.max").write_text("max")
    assert set(memory_signals(cgroups, "/kubepods", str(tmp_path))) == {"memory.available"}


def test_process_ids_are_the_lower_limit_less_every_task(tmp_path):
    assert pid_signals(made_up(tmp_path)) == {"pid.available": Observation(10000 - 123, 10000)}


def test_what_cannot_be_read_is_left_out(tmp_path):
    host = made_up(tmp_path, loadavg="odd\n", meminfo="MemFree: 5 kB\n")
    cgroups = tree(tmp_path, unified=True, cgroups={"": {}})
    assert (read_disks({"nodefs": f"{tmp_path}/not-there"}), memory_signals(cgroups, "", host), pid_signals(host)) == (
        {},
        {},
        {},
    )


def test_a_disk_is_its_file_system_as_users_may_fill_it(tmp_path):
    found, stat = read_disks({"nodefs": str(tmp_path)}), os.statvfs(tmp_path)
    assert found["nodefs"][0] == os.stat(tmp_path).st_dev
    signals = disk_signals(found)
    assert signals["nodefs.available"].capacity == stat.f_blocks * stat.f_frsize
    assert 0 <= signals["nodefs.available"].available <= signals["nodefs.available"].capacity


def test_a_file_system_that_counts_no_inodes_has_no_signal_of_them():
    assert disk_signals({"nodefs": [1, 5, 10, 0, 0]}) == {"nodefs.available": Observation(5, 10)}


def test_this_machine_tells_all_of_it(tmp_path):
    found = {**memory_signals(find(), ""), **pid_signals(), **disk_signals(read_disks({"nodefs": "/"}))}
    assert {"memory.available", "pid.available", "nodefs.available"} <= set(found)
    assert all(0 <= one.available <= one.capacity for one in found.values())


@pytest.mark.parametrize(
    ("devices", "layout"),
    [
        ({"nodefs": 1}, Layout.SINGLE),
        ({"nodefs": 1, "imagefs": 1, "containerfs": 1}, Layout.SINGLE),
        ({"nodefs": 1, "imagefs": 2, "containerfs": 2}, Layout.DEDICATED),
        ({"nodefs": 1, "imagefs": 2, "containerfs": 1}, Layout.SPLIT),
    ],
)
def test_the_layout_follows_from_the_devices(devices, layout):
    assert layout_of({name: [device, 0, 0, 0, 0] for name, device in devices.items()}) is layout


BOTH = (Reclaim.CONTAINERS, Reclaim.IMAGES)


@pytest.mark.parametrize(
    ("signal", "single", "dedicated", "split"),
    [
        ("memory.available", (), (), ()),
        ("pid.available", (), (), ()),
        ("nodefs.available", BOTH, (), (Reclaim.CONTAINERS,)),
        ("nodefs.inodesFree", BOTH, (), (Reclaim.CONTAINERS,)),
        ("imagefs.available", BOTH, BOTH, (Reclaim.IMAGES,)),
        ("containerfs.inodesFree", BOTH, BOTH, (Reclaim.CONTAINERS,)),
    ],
)
def test_what_the_node_gives_back_first_follows_from_signal_and_layout(signal, single, dedicated, split):
    found = [reclaims(signal, layout) for layout in (Layout.SINGLE, Layout.DEDICATED, Layout.SPLIT)]
    assert found == [single, dedicated, split]
