"""Processes that are in no cgroup, on made-up hosts. Real ones are in tests/node/container_manager."""

from __future__ import annotations

from pathlib import Path

import pytest

from actors.container_manager.cgroups.system_cgroups import PASSES, gather, gather_host
from actors.shared.linux.cgroup_hierarchy import Hierarchy
from actors.shared.linux.cgroup_tree import CgroupTree

V1 = (("cpu", "cpuacct"), ("devices",), ("memory",), ("name=systemd",))


class Host:
    """PID 1, a kernel thread (2), a service (100) and what has ended meanwhile (300)."""

    def __init__(self, root: Path, version: int) -> None:
        self.root = root
        groups = V1 if version == 1 else (("cpu", "memory", "pids"),)
        self.tree = CgroupTree(
            tuple(Hierarchy(f"{root}/cgroup/{names[0]}", frozenset(names), version == 2) for names in groups)
        )
        for hierarchy in self.tree.hierarchies:
            (Path(hierarchy.path) / "system").mkdir(parents=True)
            (Path(hierarchy.path) / "system/cgroup.procs").write_text("")
            (Path(hierarchy.path) / "cgroup.subtree_control").write_text("")
            (Path(hierarchy.path) / "cgroup.procs").write_text("0\n1\n2\n100\n300\n")
        for pid in (1, 2, 100):
            (root / f"proc/{pid}").mkdir(parents=True)
        for pid in (1, 100):
            (root / f"proc/{pid}/exe").symlink_to("/bin/sh")

    def entered(self) -> list[str]:
        return [Path(one.path, "system/cgroup.procs").read_text() for one in self.tree.hierarchies]


@pytest.mark.parametrize(("version", "count"), [(1, 4), (2, 1)])
def test_only_processes_with_a_program_are_moved_and_not_the_first(tmp_path, version, count):
    host = Host(tmp_path, version)

    assert gather(host.tree, "/system", f"{tmp_path}/proc") == []
    assert host.entered() == ["100"] * count


def test_on_v1_a_process_that_is_somewhere_else_in_one_hierarchy_stays_there(tmp_path):
    host = Host(tmp_path, 1)
    (tmp_path / "cgroup/memory/cgroup.procs").write_text("1\n2\n")

    gather(host.tree, "/system", f"{tmp_path}/proc")
    assert host.entered() == ["100", "100", "", "100"]


def test_on_v1_a_process_in_a_devices_cgroup_has_been_placed(tmp_path):
    host = Host(tmp_path, 1)
    (tmp_path / "cgroup/devices/cgroup.procs").write_text("1\n2\n")

    gather(host.tree, "/system", f"{tmp_path}/proc")
    assert host.entered() == [""] * 4


def test_a_process_that_cannot_be_moved_is_reported_once_and_not_retried(tmp_path, monkeypatch):
    host = Host(tmp_path, 2)
    (tmp_path / "cgroup/cpu/system/cgroup.procs").unlink()
    (tmp_path / "cgroup/cpu/system/cgroup.procs").mkdir()
    looks: list[int] = []

    def in_root(_: CgroupTree) -> set[int]:
        looks.append(1)
        return {100}

    monkeypatch.setattr(CgroupTree, "in_root", in_root)

    assert gather(host.tree, "/system", f"{tmp_path}/proc") == ["process 100: Is a directory"]
    assert len(looks) == 1 < PASSES


def test_a_host_without_cgroups_is_an_error(tmp_path):
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/mountinfo").write_text("")
    with pytest.raises(OSError, match="no cgroup file system"):
        gather_host("/system", str(tmp_path))
