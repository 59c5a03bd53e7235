from __future__ import annotations

import os
from pathlib import Path

import pytest

from actors.shared.linux.path_owners import foreign_part

NOBODY = 65534

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="gives files to another user")


def test_a_path_of_root_is_nobodys_else_also_where_it_does_not_exist_yet(tmp_path: Path):
    assert foreign_part(str(tmp_path)) == ""
    assert foreign_part(f"{tmp_path}/new/directory") == ""


@pytest.mark.parametrize("place", ["", "below"])
def test_a_directory_of_another_user_is_named_at_and_above_the_path(place, tmp_path: Path):
    of_nobody = tmp_path / "theirs"
    (of_nobody / "below").mkdir(parents=True)
    os.chown(of_nobody, NOBODY, NOBODY)
    assert foreign_part(f"{of_nobody}/{place}") == f"{of_nobody} belongs to uid {NOBODY}"


def test_a_link_of_another_user_is_named_and_so_is_what_a_link_leads_to(tmp_path: Path):
    good, theirs = tmp_path / "good", tmp_path / "theirs"
    for directory in (good, theirs):
        directory.mkdir()
    os.chown(theirs, NOBODY, NOBODY)
    (tmp_path / "of_root").symlink_to(theirs)
    (tmp_path / "of_nobody").symlink_to(good)
    os.lchown(tmp_path / "of_nobody", NOBODY, NOBODY)
    assert foreign_part(f"{tmp_path}/of_root/x") == f"{theirs} belongs to uid {NOBODY}"
    assert foreign_part(f"{tmp_path}/of_nobody") == f"{tmp_path}/of_nobody belongs to uid {NOBODY}"


def test_a_directory_in_which_anybody_may_replace_files_is_named_but_a_sticky_one_is_not(tmp_path: Path):
    (tmp_path / "root").mkdir()
    tmp_path.chmod(0o777)
    assert foreign_part(f"{tmp_path}/root") == f"anybody may replace files in {tmp_path}"
    assert foreign_part(str(tmp_path)) == "", "a start narrows the mode of its own directory"
    tmp_path.chmod(0o1777)
    assert foreign_part(f"{tmp_path}/root") == ""


def test_a_file_to_which_anybody_may_write_is_named(tmp_path: Path):
    file = tmp_path / "config.yaml"
    file.touch(0o644)
    assert foreign_part(str(file)) == ""
    file.chmod(0o646)
    assert foreign_part(str(file)) == f"anybody may write to {file}"
