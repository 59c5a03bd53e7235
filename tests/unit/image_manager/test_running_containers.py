"""Which containers have a process, by the cgroups of their pods."""

from __future__ import annotations

from actors.image_manager.running_containers import running_in
from actors.shared.linux.cgroup_hierarchy import Hierarchy
from actors.shared.linux.cgroup_tree import CgroupTree


def test_a_container_runs_while_its_cgroup_or_one_below_it_has_a_process(tmp_path):
    ids = {name: name * 64 for name in "abcd"}
    pod = tmp_path / "node/kubepods/burstable/pod1"
    for name, processes in (("a", "7"), ("b", ""), ("c/inner", "8")):
        directory = pod / name.replace(name[0], ids[name[0]], 1)
        directory.mkdir(parents=True)
        (directory / "cgroup.procs").write_text(processes)
    elsewhere = tmp_path / f"kubepods/pod2/{ids['d']}"
    elsewhere.mkdir(parents=True)
    (elsewhere / "cgroup.procs").write_text("9")
    tree = CgroupTree((Hierarchy(str(tmp_path), frozenset({"cpu", "memory"}), True),))
    assert running_in(tree, "/node") == {ids["a"], ids["c"]}
