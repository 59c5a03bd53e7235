"""Directories with those above them."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from actors.shared.linux.directories import make_path, names_in, nearest_directory
from actors.shared.linux.removal import remove_tree


@pytest.fixture(params=[0o000, 0o022, 0o077])
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def test_each_missing_directory_is_created_with_the_mode_despite_the_umask(tmp_path, umask):
    os.chmod(tmp_path, 0o700)
    make_path(f"{tmp_path}/a/b/c", 0o750)
    modes = [stat.S_IMODE(os.stat(f"{tmp_path}{path}").st_mode) for path in ("", "/a", "/a/b", "/a/b/c")]
    assert modes == [0o700, 0o750, 0o750, 0o750]
    make_path(f"{tmp_path}/a/b", 0o755)
    assert stat.S_IMODE(os.stat(f"{tmp_path}/a/b").st_mode) == 0o750


def test_a_path_through_a_file_is_an_error(tmp_path):
    (tmp_path / "file").touch()
    for path in ("file", "file/below"):
        with pytest.raises(OSError, match="file"):
            make_path(f"{tmp_path}/{path}", 0o750)


def test_a_path_may_be_as_deep_as_the_kernel_lets_it(tmp_path):
    path = f"{tmp_path}/{'a/' * 1500}b"
    make_path(path, 0o750)
    assert os.path.isdir(path)
    remove_tree(str(tmp_path / "a"))


def test_the_nearest_directory_is_the_path_or_an_ancestor_of_it(tmp_path):
    (tmp_path / "file").touch()
    assert nearest_directory(str(tmp_path)) == str(tmp_path)
    assert nearest_directory(f"{tmp_path}/a/b") == str(tmp_path)
    assert nearest_directory(f"{tmp_path}/file/b") == str(tmp_path)


def test_the_names_in_a_directory_are_sorted_and_a_missing_one_has_none(tmp_path: Path) -> None:
    for name in ("b", ".a", "c"):
        (tmp_path / name).touch()
    assert names_in(str(tmp_path)) == ["b", "c"]
    assert names_in(str(tmp_path), hidden=True) == [".a", "b", "c"]
    assert names_in(f"{tmp_path}/none") == names_in(f"{tmp_path}/b") == names_in(f"{tmp_path}/b/below") == []
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(OSError, match="symbolic links"):
        names_in(f"{tmp_path}/loop")
