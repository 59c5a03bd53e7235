"""A host without a cgroup controller that limits pods: which ones, whether the agent starts, and what mends it."""

from __future__ import annotations

from pathlib import Path

import pytest

from actors.agent import host_files, start_checks
from actors.agent.doctor.host_checks import cgroups, start
from actors.agent.missing_controllers import LIMITING, missing_controllers
from actors.shared.config.agent import Agent
from actors.shared.config.errors import ConfigProblem
from actors.shared.linux.cgroup_hierarchy import Hierarchy
from actors.shared.linux.cgroup_tree import CgroupTree

V1 = ("cpu", "cpuacct", "cpuset", "memory", "pids")


def v1(*controllers: str) -> CgroupTree:
    """Of a hybrid host: a v2 hierarchy without controllers, too."""
    separate = (Hierarchy(f"/sys/fs/cgroup/{name}", frozenset({name}), unified=False) for name in controllers)
    return CgroupTree((*separate, Hierarchy("/sys/fs/cgroup/unified", frozenset(), unified=True)))


def v2(*controllers: str) -> CgroupTree:
    return CgroupTree((Hierarchy("/sys/fs/cgroup", frozenset(controllers), unified=True),))


def host(root: Path, *mounted: str, enabled: str = "1") -> Path:
    """A made-up host with v1. `enabled`: whether its kernel has the others."""
    (root / "proc/self").mkdir(parents=True)
    mounts = [f"{at} 1 0:{at} / /sys/fs/cgroup/{one} rw - cgroup cgroup rw,{one}" for at, one in enumerate(mounted, 9)]
    (root / "proc/self/mountinfo").write_text("\n".join((*mounts, "")))
    lines = [f"{name}\t1\t1\t{1 if name in mounted else enabled}" for name in V1]
    (root / "proc/cgroups").write_text("\n".join(("#subsys_name\thierarchy\tnum_cgroups\tenabled", *lines, "")))
    return root


@pytest.mark.parametrize("tree", [v1(*V1), v2(*LIMITING, "io")])
def test_nothing_is_missing_where_all_that_limit_pods_are_there(tree: CgroupTree) -> None:
    assert missing_controllers(tree) is None


@pytest.mark.parametrize(
    ("tree", "lacks", "prevents"),
    [
        (v1("cpu", "cpuacct", "cpuset", "pids"), "v1 without memory", True),
        (v1("cpu", "cpuset", "memory", "pids"), "v1 without cpuacct", True),
        (v1("cpu", "cpuacct", "cpuset", "memory"), "v1 without pids", False),
        (v2("cpu", "cpuset", "pids"), "v2 without memory", False),
    ],
)
def test_the_start_is_prevented_where_the_kubelets_is(tree: CgroupTree, lacks: str, prevents: bool) -> None:
    found = missing_controllers(tree)
    assert found is not None
    assert (found.text, found.prevents_start) == (f"{lacks}: pods cannot be limited", prevents)


def test_a_controller_that_is_not_mounted_is_mounted(tmp_path: Path) -> None:
    root = host(tmp_path, "cpu", "cpuacct", "cpuset", "pids")
    remedy = "mkdir -p /sys/fs/cgroup/memory; mount -t cgroup -o memory none /sys/fs/cgroup/memory"
    assert [one.remedy for one in cgroups("cgroupfs", str(root))] == [remedy]
    (problem,) = (one for one in start_checks.problems(Agent(), str(root)) if one.path == "cgroups")
    assert str(problem) == f"cgroups: v1 without memory: pods cannot be limited: {remedy}"


def test_the_doctor_says_it_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(start_checks, "problems", lambda agent: [ConfigProblem("cgroups", "", "v1 without memory")])
    assert [found.text for found in start(Agent(), []) if "v1 without memory" in found.text] == []


def test_a_controller_that_the_kernel_has_turned_off_needs_a_boot(tmp_path: Path) -> None:
    root = host(tmp_path, "cpu", "cpuacct", "cpuset", "pids", enabled="0")
    (found,) = cgroups("cgroupfs", str(root))
    assert found.remedy.startswith("boot with cgroup_enable=memory, ")


def test_status_says_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_files, "find", lambda: v2("cpu", "cpuset", "pids"))
    (reason,) = host_files.problems({}, str(tmp_path))
    assert str(reason) == "cgroups: v2 without memory: pods cannot be limited"
