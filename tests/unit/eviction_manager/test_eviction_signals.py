"""The eviction signals of this host and of simulated hosts."""

import os

import pytest

from actors.eviction_manager.eviction_signals import disk_signals, layout_of, memory_signals, pid_signals, read_disks
from actors.eviction_manager.resources import DiskLayout, Reclaim, reclaims
from actors.eviction_manager.thresholds import SignalObservation
from actors.shared.linux.cgroup_hierarchy import Hierarchy
from actors.shared.linux.cgroup_tree import CgroupTree, find

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


def test_on_cgroups_v2_available_memory_is_free_memory_and_inactive_file_pages(tmp_path):
    host, cgroups = made_up(tmp_path), tree(tmp_path, unified=True, cgroups={"": {"memory.stat": "anon 5"}})
    assert memory_signals(cgroups, "", host) == {"memory.available": SignalObservation(350 * KIB, 1000 * KIB)}


def test_on_cgroups_v1_used_memory_is_the_working_set_of_the_root_cgroup(tmp_path):
    root = {"memory.usage_in_bytes": str(600 * KIB), "memory.stat": f"inactive_file 1\ntotal_inactive_file {200 * KIB}"}
    observed = memory_signals(tree(tmp_path, unified=False, cgroups={"": root}), "", made_up(tmp_path))
    assert observed == {"memory.available": SignalObservation(600 * KIB, 1000 * KIB)}


def test_allocatable_memory_is_the_limit_of_all_pods_minus_their_usage(tmp_path):
    pods = {"memory.max": "1000", "memory.current": "700", "memory.stat": "inactive_file 100"}
    cgroups = tree(tmp_path, unified=True, cgroups={"kubepods": pods})
    observed = memory_signals(cgroups, "/kubepods", made_up(tmp_path))
    assert observed["allocatableMemory.available"] == SignalObservation(400, 1000)
    (tmp_path / "cgroup/kubepods/memory.max").write_text("max")
    assert set(memory_signals(cgroups, "/kubepods", str(tmp_path))) == {"memory.available"}


def test_available_process_ids_are_the_lower_limit_minus_the_tasks(tmp_path):
    assert pid_signals(made_up(tmp_path)) == {"pid.available": SignalObservation(10000 - 123, 10000)}


def test_a_signal_that_cannot_be_read_is_left_out(tmp_path):
    host = made_up(tmp_path, loadavg="odd\n", meminfo="MemFree: 5 kB\n")
    cgroups = tree(tmp_path, unified=True, cgroups={"": {}})
    assert (read_disks([f"{tmp_path}/not-there"]), memory_signals(cgroups, "", host), pid_signals(host)) == (
        {},
        {},
        {},
    )


def test_a_disk_is_its_file_system_as_users_may_fill_it(tmp_path):
    observed = {"nodefs": read_disks([str(tmp_path)])[str(tmp_path)]}
    stat = os.statvfs(tmp_path)
    assert observed["nodefs"][0] == os.stat(tmp_path).st_dev
    signals = disk_signals(observed)
    assert signals["nodefs.available"].capacity == stat.f_blocks * stat.f_frsize
    assert 0 <= signals["nodefs.available"].available <= signals["nodefs.available"].capacity


def test_a_file_system_that_counts_no_inodes_has_no_signal_of_them():
    assert disk_signals({"nodefs": [1, 5, 10, 0, 0]}) == {"nodefs.available": SignalObservation(5, 10)}


def test_all_signals_can_be_read_on_this_machine(tmp_path):
    observed = {**memory_signals(find(), ""), **pid_signals(), **disk_signals({"nodefs": read_disks(["/"])["/"]})}
    assert {"memory.available", "pid.available", "nodefs.available"} <= set(observed)
    assert all(0 <= one.available <= one.capacity for one in observed.values())


@pytest.mark.parametrize(
    ("devices", "layout"),
    [
        ({"nodefs": 1}, DiskLayout.SINGLE),
        ({"nodefs": 1, "imagefs": 1, "containerfs": 1}, DiskLayout.SINGLE),
        ({"nodefs": 1, "imagefs": 2, "containerfs": 2}, DiskLayout.DEDICATED),
        ({"nodefs": 1, "imagefs": 2, "containerfs": 1}, DiskLayout.SPLIT),
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
def test_the_reclaimed_resources_follow_from_signal_and_disk_layout(signal, single, dedicated, split):
    observed = [reclaims(signal, layout) for layout in (DiskLayout.SINGLE, DiskLayout.DEDICATED, DiskLayout.SPLIT)]
    assert observed == [single, dedicated, split]
