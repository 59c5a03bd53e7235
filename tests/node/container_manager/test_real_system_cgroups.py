"""systemCgroups with this machine's kernel: a cgroup of our own stands for the root, so that no other process moves."""

import os
import subprocess
import uuid

import pytest

from actors.container_manager.cgroups.system_cgroups import gather
from actors.shared.linux.cgroup_hierarchy import Hierarchy
from actors.shared.linux.cgroup_tree import CgroupTree, find

pytestmark = [pytest.mark.node, pytest.mark.skipif(os.geteuid() != 0, reason="cgroups need root")]


def test_processes_of_the_root_are_moved_and_those_below_it_are_not():
    whole, name = find(), f"/troupelet-test-{uuid.uuid4().hex[:8]}"
    whole.create(name)
    root = CgroupTree(
        tuple(
            Hierarchy(one.path + name, one.controllers, one.unified)
            for one in whole.hierarchies
            if os.path.isdir(one.path + name)
        )
    )
    processes = [subprocess.Popen(["sleep", "60"]) for _ in range(3)]
    try:
        for process in processes[:2]:
            whole.enter(name, process.pid)
        root.create("/placed")
        root.enter("/placed", processes[2].pid)

        assert gather(root, "/system") == []
        assert root.in_root() == set()
        assert root.processes("/system") == {process.pid for process in processes[:2]}
        assert root.processes("/placed") == {processes[2].pid}
        assert gather(root, "/system") == []
    finally:
        for process in processes:
            process.kill()
            process.wait(10)
        whole.remove(name)
    assert not whole.anywhere(name)
