from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from actors.shared.linux.path_owners import foreign_part, unknown_owner

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


@pytest.mark.parametrize(
    ("uid_map", "unknown"),
    [("0 0 4294967295", []), ("0 1000 1\n1 100000 65536", [65534]), ("", [65534]), ("odd", [])],
)
def test_the_owner_of_the_hosts_files_is_not_known_in_a_user_namespace(
    uid_map: str, unknown: list[int], tmp_path: Path
):
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/sys/kernel").mkdir(parents=True)
    (tmp_path / "proc/self/uid_map").write_text(uid_map)
    (tmp_path / "proc/sys/kernel/overflowuid").write_text("65534\n")
    assert list(unknown_owner(str(tmp_path))) == unknown


def test_a_user_that_a_user_namespace_lacks_refuses_no_start_there(tmp_path: Path):
    os.chown(tmp_path, NOBODY - 1, NOBODY - 1)
    code = "import sys; from actors.shared.linux.path_owners import foreign_part; print(foreign_part(sys.argv[1]))"
    words = ["unshare", "--user", "--map-root-user", sys.executable, "-c", code, str(tmp_path)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    if "unshare failed" in done.stderr:
        pytest.skip(f"no user namespaces here: {done.stderr}")
    assert (done.stdout, done.stderr) == ("\n", "")
    assert foreign_part(str(tmp_path)) == f"{tmp_path} belongs to uid {NOBODY - 1}"
