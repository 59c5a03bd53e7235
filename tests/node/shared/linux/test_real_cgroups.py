"""Cgroups of this machine's kernel, whichever version it has. Everything is made below one cgroup of our own name."""

import os
import signal
import subprocess
import uuid
from pathlib import Path

import pytest

from actors.shared.linux.cgroup_files import CgroupError
from actors.shared.linux.cgroup_limits import CgroupLimits, shares_to_weight
from actors.shared.linux.cgroup_tree import find

pytestmark = [pytest.mark.node, pytest.mark.skipif(os.geteuid() != 0, reason="cgroups need root")]


@pytest.fixture
def tree():
    return find()


@pytest.fixture
def cgroup(tree):
    name = f"/troupelet-test-{uuid.uuid4().hex[:8]}"
    yield name
    tree.kill(name)
    for _ in range(50):
        if not tree.remove(name):
            break
        subprocess.run(["sleep", "0.02"], check=True)
    assert not tree.anywhere(name)


def _controlled(tree, name):
    if name not in tree.controllers:
        pytest.skip(f"this kernel does not give us the controller {name}")


def test_a_cgroup_is_created_limited_and_removed(tree, cgroup):
    _controlled(tree, "cpu")
    tree.create(f"{cgroup}/pod")
    tree.apply(f"{cgroup}/pod", CgroupLimits(cpu_shares=512, cpu_quota_us=20000, memory_bytes=64 << 20, pids=50))

    v1 = tree.version == 1
    if v1:
        assert tree.read(f"{cgroup}/pod", "cpu", "cpu.shares") == "512"
        assert tree.read(f"{cgroup}/pod", "cpu", "cpu.cfs_quota_us") == "20000"
    else:
        assert tree.read(f"{cgroup}/pod", "cpu", "cpu.weight") == str(shares_to_weight(512))
        assert tree.read(f"{cgroup}/pod", "cpu", "cpu.max") == "20000 100000"
    assert tree.read(f"{cgroup}/pod", "memory", "memory.limit_in_bytes" if v1 else "memory.max") == str(64 << 20)
    assert tree.read(f"{cgroup}/pod", "pids", "pids.max") == "50"

    tree.create(f"{cgroup}/pod")  # again
    assert tree.remove(f"{cgroup}/pod") == []
    assert not tree.anywhere(f"{cgroup}/pod")


def test_a_process_can_enter_every_hierarchy_of_a_new_cgroup(tree, cgroup):
    tree.create(f"{cgroup}/pod")
    sleeper = subprocess.Popen(["sleep", "60"])
    try:
        for hierarchy in tree.hierarchies:
            if os.path.isdir(hierarchy.path + cgroup):
                Path(f"{hierarchy.path}{cgroup}/pod/cgroup.procs").write_text(str(sleeper.pid))
        assert tree.processes(cgroup) == {sleeper.pid}
        assert tree.remove(cgroup) != []

        assert tree.kill(cgroup) >= (1 if tree.version == 1 else 0)
        assert sleeper.wait(5) == -signal.SIGKILL
    finally:
        sleeper.kill()
        sleeper.wait(5)
    assert tree.remove(cgroup) == []


def test_a_limit_that_the_kernel_refuses_names_file_and_value(tree, cgroup):
    _controlled(tree, "cpu")
    tree.create(cgroup)

    with pytest.raises(CgroupError, match=r"writing '.*5.*cpu\.(cfs_quota_us|max)"):
        tree.apply(cgroup, CgroupLimits(cpu_quota_us=5))  # below the kernel's 1 ms
