"""The mount point of a subPath."""

from __future__ import annotations

from pathlib import Path

import pytest

from actors.volume_manager.host.subpaths import make_target


@pytest.mark.parametrize("directory", [False, True])
def test_a_mount_point_is_made_as_the_subpath_is_and_kept(directory: bool, tmp_path: Path) -> None:
    target = tmp_path / "deep/target"
    make_target(str(target), directory=directory)
    assert target.is_dir() == directory
    first = target.stat().st_ino
    make_target(str(target), directory=directory)
    assert target.stat().st_ino == first


@pytest.mark.parametrize("directory", [False, True])
def test_a_mount_point_is_replaced_when_the_subpath_has_become_a_file_or_a_directory(
    directory: bool, tmp_path: Path
) -> None:
    target = tmp_path / "target"
    make_target(str(target), directory=not directory)
    make_target(str(target), directory=directory)
    assert target.is_dir() == directory


@pytest.mark.parametrize("directory", [False, True])
def test_a_link_at_a_mount_point_is_removed_and_not_followed(directory: bool, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    target = tmp_path / "target"
    target.symlink_to("elsewhere")
    make_target(str(target), directory=directory)
    assert not target.is_symlink()
    assert (tmp_path / "elsewhere").is_dir()
