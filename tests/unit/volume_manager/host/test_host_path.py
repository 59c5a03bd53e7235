"""The types of hostPath volumes: what is at the path, and what is said of another kind."""

from __future__ import annotations

from pathlib import Path

import pytest

from actors.volume_manager.host.host_path import check_host_path

WORDS = {
    "DirectoryOrCreate": "a directory", "Directory": "a directory", "FileOrCreate": "a file", "File": "a file",
    "Socket": "a socket file", "CharDevice": "a character device", "BlockDevice": "a block device",
}  # fmt: skip


@pytest.mark.parametrize("kind", WORDS)
def test_another_kind_of_file_is_reported_as_wrong(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "at"
    path.touch() if kind.startswith("Directory") else path.mkdir()
    assert check_host_path(str(path), kind) == f"hostPath type check failed: {path} is not {WORDS[kind]}"


@pytest.mark.parametrize("kind", [kind for kind in WORDS if not kind.endswith("Create")])
def test_a_missing_path_fails_its_type_check(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "none"
    assert check_host_path(str(path), kind) == f"hostPath type check failed: {path} is not {WORDS[kind]}"


def test_a_missing_path_is_created_if_its_type_allows_it(tmp_path: Path) -> None:
    assert check_host_path(f"{tmp_path}/a/b", "DirectoryOrCreate") == ""
    assert check_host_path(f"{tmp_path}/a/b/c", "FileOrCreate") == ""
    assert (tmp_path / "a/b/c").is_file()


def test_a_path_that_cannot_be_made_is_told_in_the_kubelets_words(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    missing, below = f"{tmp_path}/none/c", f"{tmp_path}/file/c"
    assert check_host_path(missing, "FileOrCreate") == f"open {missing}: no such file or directory"
    assert check_host_path(below, "FileOrCreate") == f"open {below}: not a directory"
    long = f"{tmp_path}/{'x' * 300}"
    assert check_host_path(long, "DirectoryOrCreate") == f"mkdir {long}: file name too long"


@pytest.mark.parametrize("kind", [kind for kind in WORDS if kind != "FileOrCreate"])
def test_a_path_below_a_file_is_nothing(tmp_path: Path, kind: str) -> None:
    (tmp_path / "file").touch()
    path = f"{tmp_path}/file/below"
    assert check_host_path(path, kind) == f"hostPath type check failed: {path} is not {WORDS[kind]}"
