"""Removing trees. Mounts inside them are in tests/node/linux."""

import os

import pytest

from actors.linux import beneath, removal
from actors.linux.removal import mount_id, remove_tree


@pytest.fixture(params=["openat2", "walk"])
def way(request, monkeypatch):
    if request.param == "walk":
        monkeypatch.setattr(removal, "has_openat2", lambda: False)
    elif not beneath.has_openat2():
        pytest.skip("this kernel has no openat2")


def test_a_tree_is_removed_with_all_that_is_in_it(tmp_path, way):
    deep = tmp_path / "tree" / "a" / "b"
    deep.mkdir(parents=True)
    (deep / "file").write_text("x")
    (tmp_path / "tree" / "pipe").symlink_to("nowhere")
    os.mkfifo(tmp_path / "tree" / "fifo")

    remove_tree(str(tmp_path / "tree"))

    assert list(tmp_path.iterdir()) == []


def test_a_symlink_is_removed_and_what_it_points_to_is_not(tmp_path, way):
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "data").write_text("keep me")
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "link").symlink_to(precious)

    remove_tree(str(tree))

    assert not tree.exists()
    assert (precious / "data").read_text() == "keep me"


def test_a_tree_that_is_itself_a_symlink_is_only_unlinked(tmp_path, way):
    precious = tmp_path / "precious"
    precious.mkdir()
    (tmp_path / "tree").symlink_to(precious)

    remove_tree(str(tmp_path / "tree"))

    assert precious.is_dir()
    assert not (tmp_path / "tree").is_symlink()


def test_the_root_is_kept_when_asked(tmp_path, way):
    (tmp_path / "tree" / "sub").mkdir(parents=True)

    remove_tree(str(tmp_path / "tree"), keep_root=True)

    assert list((tmp_path / "tree").iterdir()) == []


def test_what_is_not_there_needs_no_removal(tmp_path, way):
    remove_tree(str(tmp_path / "nothing"))
    remove_tree(str(tmp_path / "no" / "parent"))


def test_a_tree_nested_beyond_the_limit_is_refused_without_running_out_of_files(tmp_path, way):
    directory = os.open(tmp_path, os.O_RDONLY)
    os.mkdir("top", dir_fd=directory)
    current = os.open("top", os.O_RDONLY, dir_fd=directory)
    for _ in range(420):
        os.mkdir("d", dir_fd=current)
        deeper = os.open("d", os.O_RDONLY, dir_fd=current)
        os.close(current)
        current = deeper
    os.close(current)
    os.close(directory)

    with pytest.raises(OSError, match="nested too deeply"):
        remove_tree(str(tmp_path / "top"))


def test_a_files_mount_is_the_one_its_directory_is_on(tmp_path):
    (tmp_path / "sub").mkdir()
    one, two = os.open(tmp_path, os.O_RDONLY), os.open(tmp_path / "sub", os.O_RDONLY)
    proc = os.open("/proc", os.O_RDONLY)
    try:
        assert mount_id(one) == mount_id(two) != mount_id(proc)
    finally:
        for fd in (one, two, proc):
            os.close(fd)
