"""What is left of a host, real and made up."""

import os

from actors.container_manager.eviction_signals import read


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


def test_memory_is_what_is_free_and_inactive_pages_of_files(tmp_path):
    assert read({}, made_up(tmp_path))["memory.available"] == [350 * 1024, 1000 * 1024]


def test_process_ids_are_the_lower_limit_less_every_task(tmp_path):
    assert read({}, made_up(tmp_path))["pid.available"] == [10000 - 123, 10000]


def test_what_cannot_be_read_is_left_out(tmp_path):
    host = made_up(tmp_path, loadavg="odd\n", meminfo="MemTotal: 5 kB\n")
    assert read({"nodefs": f"{tmp_path}/not-there"}, host) == {}


def test_a_disk_is_its_file_system_as_users_may_fill_it(tmp_path):
    found, stat = read({"nodefs": str(tmp_path)}, made_up(tmp_path)), os.statvfs(tmp_path)
    assert found["nodefs.available"][1] == stat.f_blocks * stat.f_frsize
    assert 0 <= found["nodefs.available"][0] <= found["nodefs.available"][1]


def test_this_machine_tells_all_of_it(tmp_path):
    found = read({"nodefs": "/", "imagefs": str(tmp_path)})
    assert {"memory.available", "pid.available", "nodefs.available", "imagefs.available"} <= set(found)
    assert all(0 <= available <= capacity for available, capacity in found.values())
