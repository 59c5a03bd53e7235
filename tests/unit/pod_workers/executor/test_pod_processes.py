"""What runs in a pod's cgroup, by the directories of a made-up host."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from actors.pod_workers.executor import pod_processes
from actors.pod_workers.executor.pod_processes import CgroupWatch, cgroups, path, paused_in, running_in, waiting_in
from actors.pod_workers.pod.desired_state import DesiredState
from actors.pod_workers.pod.state import PodState
from actors.pod_workers.pod.state_values import AcquiredResources
from actors.shared.kube.codec import decode_pod
from actors.shared.linux import mountinfo
from actors.shared.linux.cgroup_hierarchy import Hierarchy
from actors.shared.linux.cgroup_tree import CgroupTree
from tests.support.pod_states import box, running

ID, OTHER = "0a" * 32, "1b" * 32


def place(top: Path, name: str, pid: int) -> None:
    directory = top / "kubepods" / "pod1" / name
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "cgroup.procs").write_text(f"{pid}\n")


@pytest.fixture
def tree(tmp_path: Path) -> CgroupTree:
    return CgroupTree((Hierarchy(str(tmp_path), frozenset({"memory"}), unified=True),))


@pytest.mark.parametrize("form", ["{}", "cri-containerd-{}.scope", "crio-{}.scope"])
def test_a_container_with_a_process_runs_whichever_driver_named_its_cgroup(
    tree: CgroupTree, tmp_path: Path, form: str
) -> None:
    place(tmp_path, form.format(ID), os.getpid())
    assert running_in(tree, "/kubepods/pod1") == {ID}


def test_an_empty_cgroup_a_dead_process_and_what_is_no_container_count_as_nothing(
    tree: CgroupTree, tmp_path: Path
) -> None:
    place(tmp_path, ID, 2**30)
    place(tmp_path, "system.slice", os.getpid())
    (tmp_path / "kubepods/pod1" / OTHER).mkdir()
    place(tmp_path, f"crio-conmon-{OTHER}.scope", os.getpid())
    assert running_in(tree, "/kubepods/pod1") == set()
    assert running_in(tree, "/kubepods/none") == set()


def test_a_leftover_sandbox_is_no_container(tree: CgroupTree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place(tmp_path, ID, os.getpid())
    monkeypatch.setattr(pod_processes, "_program", lambda _: "pause")
    assert running_in(tree, "/kubepods/pod1") == set()
    assert paused_in(tree, "/kubepods/pod1") == {ID}


@pytest.mark.parametrize("step", ["runc:[0:PARENT]", "runc:[1:CHILD]", "runc:[2:INIT]"])
def test_a_container_whose_program_has_not_started_is_not_running(
    tree: CgroupTree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    place(tmp_path, ID, 1)
    place(tmp_path, OTHER, 2)
    monkeypatch.setattr(pod_processes, "_program", {1: step, 2: "sleep"}.__getitem__)
    assert waiting_in(tree, "/kubepods/pod1") == {ID: f"/kubepods/pod1/{ID}"}
    assert running_in(tree, "/kubepods/pod1") == {OTHER}


def test_a_container_that_is_entered_while_it_runs_does_not_wait(
    tree: CgroupTree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place(tmp_path, ID, 1)
    (tmp_path / "kubepods/pod1" / ID / "cgroup.procs").write_text("1\n2\n")
    monkeypatch.setattr(pod_processes, "_program", {1: "sleep", 2: "runc:[2:INIT]"}.__getitem__)
    assert waiting_in(tree, "/kubepods/pod1") == {}
    assert running_in(tree, "/kubepods/pod1") == {ID}


def test_hierarchies_that_cannot_be_read_now_are_read_later(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not taken for a host without any, on which no container runs."""
    read = mountinfo.read

    def fail(*_: object) -> list[mountinfo.Mount]:
        raise OSError(errno.EMFILE, "Too many open files")

    pod_processes.tree.cache_clear()
    monkeypatch.setattr(mountinfo, "read", fail)
    with pytest.raises(OSError, match="Too many open files"):
        pod_processes.tree()
    monkeypatch.setattr(mountinfo, "read", read)
    assert pod_processes.tree() is pod_processes.tree()


@pytest.mark.parametrize("name", ["", f"{ID}/cgroup.procs"])
def test_what_runs_in_a_cgroup_that_cannot_be_read_is_not_known(tree: CgroupTree, tmp_path: Path, name: str) -> None:
    place(tmp_path, ID, os.getpid())
    file = tmp_path / "kubepods/pod1" / name
    file.rename(tmp_path / "kept")
    file.symlink_to(file)
    with pytest.raises(OSError, match="Too many levels"):
        running_in(tree, "/kubepods/pod1")


def test_a_slice_is_converted_to_its_path() -> None:
    assert path("kubepods-besteffort.slice") == "/kubepods.slice/kubepods-besteffort.slice"
    assert path("/kubepods/besteffort/pod1") == "/kubepods/besteffort/pod1"
    assert path("") == ""


def test_before_the_admission_a_pods_cgroup_is_searched_at_the_path_of_each_driver() -> None:
    spec = b'{"containers":[{"name":"a","resources":{"requests":{"cpu":"1"}}}]}'
    raw = b'{"metadata":{"name":"p","uid":"1-2"},"spec":' + spec + b"}"
    state = PodState(uid="1-2", wanted=DesiredState(pod=decode_pod(raw)))
    assert cgroups(state, "") == [
        "/kubepods/burstable/pod1-2",
        "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1_2.slice",
    ]
    given = AcquiredResources(cgroup_parent="kubepods-podx.slice")
    assert cgroups(PodState(uid="1-2", acquired=given), "") == ["/kubepods.slice/kubepods-podx.slice"]
    assert cgroups(PodState(uid="1-2"), "") == []


def test_a_cgroup_that_was_seen_with_a_sandbox_and_is_removed_is_gone(tree: CgroupTree, tmp_path: Path) -> None:
    state, watch = running(), CgroupWatch(lambda: tree)
    directory = tmp_path / "kubepods/podu"
    assert not watch.is_gone(state), "never seen: it may be in the making"
    directory.mkdir(parents=True)
    assert not watch.is_gone(state)
    directory.rmdir()
    assert watch.is_gone(state)
    assert watch.is_gone(state), "until there is another sandbox"
    assert not watch.is_gone(running(boxes=(box(1),)))


def test_a_cgroup_that_cannot_be_looked_for_is_not_gone(tree: CgroupTree, tmp_path: Path) -> None:
    """Its pod would be ended and made again."""
    state, watch = running(), CgroupWatch(lambda: tree)
    directory = tmp_path / "kubepods/podu"
    directory.mkdir(parents=True)
    assert not watch.is_gone(state)
    directory.rmdir()
    directory.symlink_to(directory)
    assert not watch.is_gone(state)
    directory.unlink()
    assert watch.is_gone(state)
