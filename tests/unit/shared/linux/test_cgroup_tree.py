"""Cgroup trees on made-up hosts: v1, v2, hybrid. Real ones are in tests/node/shared/linux."""

import errno
import os
from pathlib import Path

import pytest

from actors.shared.linux import cgroup_files
from actors.shared.linux.cgroup_files import CgroupError
from actors.shared.linux.cgroup_limits import CgroupLimits
from actors.shared.linux.cgroup_tree import find

LIMITS = CgroupLimits(cpu_shares=1024, cpu_quota_us=20000, memory_bytes=4096, pids=7)


class Host:
    """A root directory with a mount table and cgroup directories in which files appear as the kernel makes them."""

    def __init__(self, root):
        self.root, self.lines = root, []
        (root / "proc" / "self").mkdir(parents=True)

    def mount(self, point, kind, options):
        path = self.root / point.lstrip("/")
        path.mkdir(parents=True)
        number = len(self.lines) + 30
        self.lines.append(f"{number} 1 0:{number} / {point} rw - {kind} {kind} rw,{options}\n")
        (self.root / "proc" / "self" / "mountinfo").write_text("".join(self.lines))
        return path

    def tree(self):
        return find(str(self.root))


def v1(root):
    host = Host(root)
    for options in ("cpu,cpuacct", "memory", "pids", "cpuset", "name=systemd"):
        host.mount(f"/sys/fs/cgroup/{options.removeprefix('name=')}", "cgroup", options)
    return host


def hybrid(root):
    host = v1(root)
    (host.mount("/sys/fs/cgroup/unified", "cgroup2", "nsdelegate") / "cgroup.controllers").write_text("hugetlb\n")
    return host


def v2(root):
    host = Host(root)
    path = host.mount("/sys/fs/cgroup", "cgroup2", "nsdelegate")
    (path / "cgroup.controllers").write_text("cpu io memory pids\n")
    (path / "cgroup.subtree_control").write_text("cpu\n")
    return host


def _dress(directory, *names):
    """The files that the kernel puts into a new cgroup."""
    for name in names:
        (directory / name).write_text("")


@pytest.mark.parametrize(("version", "file"), [(v1, "cgroup.clone_children"), (v2, "cgroup.events")])
def test_a_cgroup_is_as_old_as_its_oldest_file_though_children_change_its_directory(tmp_path, version, file):
    tree = version(tmp_path).tree()
    for age, hierarchy in enumerate(tree.hierarchies):
        directory = Path(hierarchy.path) / "pods"
        directory.mkdir()
        _dress(directory, file)
        os.utime(directory / file, (100 + age, 100 + age))
        os.utime(directory, (900, 900))
    assert tree.created("/pods") == 100
    assert tree.created("/gone") == 0


def test_hierarchies_are_found_in_the_mount_table(tmp_path):
    tree = hybrid(tmp_path).tree()

    assert {frozenset(h.controllers) for h in tree.hierarchies} == {
        frozenset({"cpu", "cpuacct"}),
        frozenset({"memory"}),
        frozenset({"pids"}),
        frozenset({"cpuset"}),
        frozenset({"name=systemd"}),
        frozenset({"hugetlb"}),
    }
    assert tree.version == 1


def test_a_host_with_v2_alone_is_version_2(tmp_path):
    tree = v2(tmp_path).tree()

    assert tree.version == 2
    assert tree.controllers == {"cpu", "io", "memory", "pids"}


def test_a_v1_hierarchy_that_a_program_mounted_beside_v2_leaves_it_version_2(tmp_path):
    host = v2(tmp_path)
    host.mount("/run/vpn/net_cls", "cgroup", "net_cls")
    tree = host.tree()

    tree.create("/pod1")

    assert tree.version == 2
    assert (tmp_path / "sys/fs/cgroup/pod1").is_dir()
    assert not (tmp_path / "run/vpn/net_cls/pod1").exists()


@pytest.mark.parametrize("number", [errno.EBUSY, errno.EINVAL, errno.ENOENT, errno.EOPNOTSUPP])
def test_a_missing_v2_controller_is_skipped(tmp_path, monkeypatch, number):
    tree, written = v2(tmp_path).tree(), []

    def write(path, text):
        written.append(text)
        if text == "+io":
            raise CgroupError(number, "no", path)

    monkeypatch.setattr(cgroup_files, "write", write)
    tree.create("/pod1")

    assert written == ["+io", "+memory", "+pids"]
    assert tree.exists("/pod1")


def test_a_v2_tree_that_cannot_be_changed_is_an_error(tmp_path, monkeypatch):
    def write(path, text):
        raise CgroupError(errno.EROFS, "read-only", path)

    tree = v2(tmp_path).tree()
    monkeypatch.setattr(cgroup_files, "write", write)

    with pytest.raises(CgroupError, match="read-only"):
        tree.create("/pod1")


def test_a_second_mount_of_a_hierarchy_is_not_a_second_hierarchy(tmp_path):
    host = v2(tmp_path)
    host.lines.append(host.lines[0].replace(" /sys/fs/cgroup ", " /elsewhere "))
    (tmp_path / "proc/self/mountinfo").write_text("".join(host.lines))

    assert [h.path for h in host.tree().hierarchies] == [str(tmp_path / "sys/fs/cgroup")]


def test_a_host_without_cgroups_is_recognised(tmp_path):
    host = Host(tmp_path)
    host.mount("/tmp", "tmpfs", "size=1")

    with pytest.raises(CgroupError, match="no cgroup file system"):
        host.tree()


def test_on_a_hybrid_host_a_cgroup_is_made_in_the_v1_hierarchies(tmp_path):
    tree = hybrid(tmp_path).tree()

    tree.create("/kubepods/pod1")

    base = tmp_path / "sys/fs/cgroup"
    assert all((base / name / "kubepods/pod1").is_dir() for name in ("cpu,cpuacct", "memory", "pids", "systemd"))
    assert not (base / "unified/kubepods").exists()
    assert tree.exists("/kubepods/pod1")
    tree.create("/kubepods/pod1")


def test_a_v1_cpuset_takes_over_what_its_parent_has(tmp_path):
    tree = v1(tmp_path).tree()
    top = tmp_path / "sys/fs/cgroup/cpuset"
    (top / "cpuset.cpus").write_text("0-3\n")
    (top / "cpuset.mems").write_text("0\n")
    for directory in (top / "kubepods", top / "kubepods/pod1"):
        directory.mkdir()
        _dress(directory, "cpuset.cpus", "cpuset.mems")
    (top / "kubepods/cpuset.cpus").write_text("1-2\n")

    tree.create("/kubepods/pod1")

    assert (top / "kubepods/pod1/cpuset.cpus").read_text() == "1-2"
    assert (top / "kubepods/pod1/cpuset.mems").read_text() == "0"


def test_a_v1_cpuset_that_cannot_be_read_is_an_error_of_the_cgroup(tmp_path, monkeypatch):
    def fail(path, *_args):
        raise OSError(errno.EMFILE, "Too many open files", str(path))

    tree = v1(tmp_path).tree()
    monkeypatch.setattr(Path, "read_text", fail)
    with pytest.raises(CgroupError, match="Too many open files"):
        tree.create("/kubepods")


def test_v2_controllers_are_enabled_on_the_way_down(tmp_path):
    tree = v2(tmp_path).tree()

    tree.create("/pod1")

    # a real file would gather all three; this one keeps the last that was written
    assert (tmp_path / "sys/fs/cgroup/cgroup.subtree_control").read_text() == "+pids"
    assert tree.exists("/pod1")


def test_v1_limits_are_written_where_their_controller_is(tmp_path):
    tree = v1(tmp_path).tree()
    tree.create("/pod1")
    base = tmp_path / "sys/fs/cgroup"
    _dress(base / "cpu,cpuacct/pod1", "cpu.shares", "cpu.cfs_quota_us", "cpu.cfs_period_us")
    _dress(base / "memory/pod1", "memory.limit_in_bytes")
    _dress(base / "pids/pod1", "pids.max")

    tree.apply("/pod1", LIMITS)

    assert tree.read("/pod1", "cpu", "cpu.shares") == "1024"
    assert tree.read("/pod1", "cpu", "cpu.cfs_quota_us") == "20000"
    assert tree.read("/pod1", "memory", "memory.limit_in_bytes") == "4096"
    assert tree.read("/pod1", "pids", "pids.max") == "7"


def test_on_a_hybrid_host_limits_are_not_looked_for_in_the_v2_hierarchy(tmp_path):
    tree = hybrid(tmp_path).tree()
    tree.create("/pod1")

    tree.apply("/pod1", CgroupLimits(hugetlb={"2MB": 0}))

    assert not (tmp_path / "sys/fs/cgroup/unified/pod1").exists()


def test_v2_limits_are_written_by_their_v2_names(tmp_path):
    tree = v2(tmp_path).tree()
    (tmp_path / "sys/fs/cgroup/pod1").mkdir()
    _dress(tmp_path / "sys/fs/cgroup/pod1", "cpu.weight", "cpu.max", "memory.max")

    tree.apply("/pod1", LIMITS)

    assert tree.read("/pod1", "cpu", "cpu.weight") == "39"
    assert tree.read("/pod1", "cpu", "cpu.max") == "20000 100000"
    assert not (tmp_path / "sys/fs/cgroup/pod1/pids.max").exists()  # not a file of this kernel


def test_limits_of_a_cgroup_that_is_gone_are_an_error_that_names_it(tmp_path):
    with pytest.raises(CgroupError, match=r"gone.*pod1/cpu\.shares"):
        v1(tmp_path).tree().apply("/pod1", LIMITS)


def test_a_cgroup_is_removed_in_every_hierarchy_with_those_of_the_runtime_below_it(tmp_path):
    tree = hybrid(tmp_path).tree()
    tree.create("/kubepods/pod1")
    base = tmp_path / "sys/fs/cgroup"
    (base / "unified/kubepods/pod1/container").mkdir(parents=True)
    (base / "systemd/kubepods/pod1/container").mkdir()

    assert tree.remove("/kubepods/pod1") == []

    assert tree.children("/kubepods") == []
    assert (base / "unified/kubepods").is_dir()
    assert tree.remove("/kubepods/pod1") == []


def test_removal_skips_and_reports_cgroups_in_use(tmp_path):
    tree = v1(tmp_path).tree()
    tree.create("/pod1")
    busy = tmp_path / "sys/fs/cgroup/memory/pod1"
    (busy / "a-file-keeps-the-directory").write_text("")

    assert tree.remove("/pod1") == [str(busy)]
    assert not (tmp_path / "sys/fs/cgroup/pids/pod1").exists()


def test_children_are_those_of_any_hierarchy(tmp_path):
    tree = v1(tmp_path).tree()
    tree.create("/kubepods/pod1")
    (tmp_path / "sys/fs/cgroup/pids/kubepods/pod2").mkdir()

    assert tree.children("/kubepods") == ["pod1", "pod2"]
    assert tree.children("/nothing") == []


def test_processes_are_those_of_the_whole_subtree(tmp_path):
    tree = v1(tmp_path).tree()
    tree.create("/pod1/inner")
    base = tmp_path / "sys/fs/cgroup"
    (base / "pids/pod1/cgroup.procs").write_text("11\n12\n")
    (base / "memory/pod1/inner/cgroup.procs").write_text("12\n13\n")

    assert tree.processes("/pod1") == {11, 12, 13}
    assert tree.processes("/nothing") == set()


def test_a_cgroup_that_cannot_be_read_is_not_taken_for_an_absent_or_an_empty_one(tmp_path):
    tree = v2(tmp_path).tree()
    tree.create("/pod1")
    procs = tmp_path / "sys/fs/cgroup/pod1/cgroup.procs"
    procs.symlink_to(procs)
    with pytest.raises(CgroupError, match="Too many levels"):
        tree.processes("/pod1")
    with pytest.raises(CgroupError, match="Too many levels"):
        tree.kill("/pod1")
    pod = tmp_path / "sys/fs/cgroup/pod2"
    pod.symlink_to(pod)
    for look in (tree.exists, tree.anywhere, tree.processes):
        with pytest.raises(CgroupError, match="Too many levels"):
            look("/pod2")


@pytest.mark.parametrize("number", [errno.ENOENT, errno.ENODEV, errno.EOPNOTSUPP])
def test_a_cgroup_that_is_removed_or_threaded_has_no_processes(tmp_path, monkeypatch, number):
    tree = v2(tmp_path).tree()
    tree.create("/pod1")

    def fail(*_, **__):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("builtins.open", fail)
    assert tree.processes("/pod1") == set()


def test_a_pid_of_another_namespace_is_not_killed(tmp_path):
    tree = v1(tmp_path).tree()
    tree.create("/pod1")
    (tmp_path / "sys/fs/cgroup/pids/pod1/cgroup.procs").write_text("0\n")

    assert tree.kill("/pod1") == 0


def test_v2_kills_with_one_write(tmp_path):
    tree = v2(tmp_path).tree()
    directory = tmp_path / "sys/fs/cgroup/pod1"
    directory.mkdir()
    _dress(directory, "cgroup.kill", "cgroup.procs")
    (directory / "cgroup.procs").write_text("11\n12\n")

    assert tree.kill("/pod1") == 2  # so it is waited until they are gone

    assert (directory / "cgroup.kill").read_text() == "1"


def test_on_v2_a_cgroup_below_one_with_processes_is_occupied(tmp_path):
    host, empty = v2(tmp_path), v2(tmp_path / "other")
    for each in (host, empty):
        (each.root / "sys/fs/cgroup/a/b").mkdir(parents=True)
    (host.root / "sys/fs/cgroup/a/cgroup.procs").write_text("7\n")
    (empty.root / "sys/fs/cgroup/a/cgroup.procs").write_text("")
    (empty.root / "sys/fs/cgroup/cgroup.procs").write_text("1\n")  # the root may have processes

    assert [host.tree().occupied(path) for path in ("/a/b/c", "/a", "/x", "/")] == ["/a", "/a", "", ""]
    assert empty.tree().occupied("/a/b") == ""


def test_on_v1_no_cgroup_is_occupied(tmp_path):
    host = v1(tmp_path)
    (host.root / "sys/fs/cgroup/memory/a").mkdir()
    (host.root / "sys/fs/cgroup/memory/a/cgroup.procs").write_text("7\n")
    assert host.tree().occupied("/a") == ""


@pytest.mark.parametrize("number", [errno.EBUSY, errno.EIO])
def test_huge_pages_that_are_in_use_stay_with_a_cgroup_that_had_no_limit(tmp_path, monkeypatch, number):
    host = Host(tmp_path)
    for options in ("pids", "hugetlb"):
        host.mount(f"/sys/fs/cgroup/{options}", "cgroup", options)
    tree = host.tree()
    tree.create("/pod1")
    written = []

    def write(path, text):
        if "hugetlb.2MB" in path:
            raise CgroupError(number, "refused", path)
        written.append(path.rpartition("/")[2])

    monkeypatch.setattr(cgroup_files, "write", write)
    if number == errno.EBUSY:
        tree.apply("/pod1", CgroupLimits(pids=7, hugetlb={"2MB": 0, "1GB": 0}))
        assert sorted(written) == ["hugetlb.1GB.limit_in_bytes", "pids.max"]
    else:
        with pytest.raises(CgroupError):
            tree.apply("/pod1", CgroupLimits(hugetlb={"2MB": 0}))
