"""What runs in a pod's cgroup, by the directories of a made-up host."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from actors.pod_workers.executor import unlisted
from actors.pod_workers.executor.unlisted import path, running_in, waiting_in
from actors.shared.linux.cgroup_tree import CgroupTree, Hierarchy

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
    assert running_in(tree, "/kubepods/pod1") == set()
    assert running_in(tree, "/kubepods/none") == set()


def test_a_sandbox_that_is_left_over_is_no_container(
    tree: CgroupTree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place(tmp_path, ID, os.getpid())
    monkeypatch.setattr(unlisted, "_program", lambda _: "pause")
    assert running_in(tree, "/kubepods/pod1") == set()


def test_a_container_whose_program_has_not_begun_waits_and_does_not_run(
    tree: CgroupTree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place(tmp_path, ID, 1)
    place(tmp_path, OTHER, 2)
    monkeypatch.setattr(unlisted, "_program", {1: "runc:[2:INIT]", 2: "sleep"}.__getitem__)
    assert waiting_in(tree, "/kubepods/pod1") == {ID: f"/kubepods/pod1/{ID}"}
    assert running_in(tree, "/kubepods/pod1") == {OTHER}


def test_a_container_that_is_entered_while_it_runs_does_not_wait(
    tree: CgroupTree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place(tmp_path, ID, 1)
    (tmp_path / "kubepods/pod1" / ID / "cgroup.procs").write_text("1\n2\n")
    monkeypatch.setattr(unlisted, "_program", {1: "sleep", 2: "runc:[2:INIT]"}.__getitem__)
    assert waiting_in(tree, "/kubepods/pod1") == {}
    assert running_in(tree, "/kubepods/pod1") == {ID}


def test_a_slice_stands_for_its_path() -> None:
    assert path("kubepods-besteffort.slice") == "/kubepods.slice/kubepods-besteffort.slice"
    assert path("/kubepods/besteffort/pod1") == "/kubepods/besteffort/pod1"
    assert path("") == ""
