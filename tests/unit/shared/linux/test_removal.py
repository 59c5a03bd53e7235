"""Removing trees. Mounts inside them are in tests/node/shared/linux."""

import ctypes
import errno
import os
import resource

import pytest

from actors.shared.linux import confined_paths, removal
from actors.shared.linux.removal import FEW_BYTES, FEW_FILES, have_few_files, mount_id, remove_tree


@pytest.fixture(params=["openat2", "walk"])
def way(request, monkeypatch):
    if request.param == "walk":
        monkeypatch.setattr(removal, "has_openat2", lambda: False)
    elif not confined_paths.has_openat2():
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


def test_the_root_of_the_tree_is_kept_when_requested(tmp_path, way):
    (tmp_path / "tree" / "sub").mkdir(parents=True)

    remove_tree(str(tmp_path / "tree"), keep_root=True)

    assert list((tmp_path / "tree").iterdir()) == []


def test_a_missing_tree_needs_no_removal(tmp_path, way):
    remove_tree(str(tmp_path / "nothing"))
    remove_tree(str(tmp_path / "no" / "parent"))


def nest(path, depth):
    os.mkdir(path)
    current = os.open(path, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir("d", dir_fd=current)
        os.close(os.open("file", os.O_CREAT | os.O_WRONLY, dir_fd=current))
        deeper = os.open("d", os.O_RDONLY, dir_fd=current)
        os.close(current)
        current = deeper
    os.close(current)


@pytest.mark.parametrize("depth", [199, 200, 201, 1500])
def test_a_tree_of_any_depth_is_removed_without_running_out_of_descriptors(tmp_path, way, depth):
    nest(tmp_path / "top", depth)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    opened = max(int(name) for name in os.listdir("/proc/self/fd"))
    resource.setrlimit(resource.RLIMIT_NOFILE, (opened + 512, hard))
    try:
        remove_tree(str(tmp_path / "top"))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_cannot_be_removed_does_not_keep_others(tmp_path, way, monkeypatch):
    for name in ("a/kept", "a/gone", "b/gone", "c"):
        (tmp_path / "top" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "top" / name).touch()
    unlink = os.unlink

    def refusing(name, **where):
        if name == "kept":
            raise PermissionError(errno.EPERM, "Operation not permitted", name)
        unlink(name, **where)

    monkeypatch.setattr(os, "unlink", refusing)
    with pytest.raises(PermissionError, match="top/a/kept"):
        remove_tree(str(tmp_path / "top"))
    assert [str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")] == ["top", "top/a", "top/a/kept"]


@pytest.mark.slow
def test_thousands_of_entries_go(tmp_path, way):
    (tmp_path / "top").mkdir()
    for number in range(5000):
        os.close(os.open(tmp_path / "top" / str(number), os.O_CREAT | os.O_WRONLY))
    remove_tree(str(tmp_path / "top"))
    assert list(tmp_path.iterdir()) == []


def test_a_files_mount_is_the_one_its_directory_is_on(tmp_path):
    (tmp_path / "sub").mkdir()
    one, two = os.open(tmp_path, os.O_RDONLY), os.open(tmp_path / "sub", os.O_RDONLY)
    proc = os.open("/proc", os.O_RDONLY)
    try:
        assert mount_id(one) == mount_id(two) != mount_id(proc)
    finally:
        for fd in (one, two, proc):
            os.close(fd)


def test_few_are_a_number_of_entries_and_of_bytes(tmp_path):
    where = [f"{tmp_path}/none", str(tmp_path / "a"), str(tmp_path / "b")]
    assert have_few_files(where), "nothing is there"
    (tmp_path / "a" / "deep").mkdir(parents=True)
    (tmp_path / "b").mkdir()
    for number in range(FEW_FILES - 1):
        (tmp_path / "a" / "deep" / str(number)).touch()
    assert have_few_files(where)
    (tmp_path / "b" / "more").touch()
    assert not have_few_files(where)
    assert have_few_files(where[:2])
    os.truncate(tmp_path / "a" / "deep" / "0", FEW_BYTES + 1)
    assert not have_few_files(where[:2])


def test_many_files_below_a_long_path_are_not_few(tmp_path):
    """Below a path that is longer than the kernel takes at once."""
    current = os.open(tmp_path, os.O_RDONLY)
    for _ in range(20):
        os.mkdir("d" * 250, dir_fd=current)
        deeper = os.open("d" * 250, os.O_RDONLY, dir_fd=current)
        os.close(current)
        current = deeper
    for number in range(2 * FEW_FILES):
        os.close(os.open(str(number), os.O_CREAT | os.O_WRONLY, dir_fd=current))
    os.close(current)
    assert not have_few_files([str(tmp_path)])


def test_few_is_not_an_empty_file_with_many_blocks(tmp_path):
    keep_size, libc = 1, ctypes.CDLL(None, use_errno=True)
    with (tmp_path / "file").open("wb") as file:
        size = ctypes.c_long(FEW_BYTES + 4096)
        if libc.fallocate(file.fileno(), keep_size, ctypes.c_long(0), size) != 0:
            pytest.skip("this file system has no fallocate")
    assert (tmp_path / "file").stat().st_size == 0
    assert not have_few_files([str(tmp_path)])
