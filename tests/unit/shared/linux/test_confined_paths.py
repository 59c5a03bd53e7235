"""Paths that stay inside their directory, by openat2 and by the walk for kernels without it."""

import errno
import os
import stat
from contextlib import suppress

import pytest

from actors.shared.linux import confined_paths
from actors.shared.linux.confined_paths import UnsafePathError, clean_relative, make_directories, open_beneath


@pytest.fixture(params=["openat2", "walk"])
def volume(request, tmp_path, monkeypatch):
    if request.param == "walk":
        monkeypatch.setattr(confined_paths, "has_openat2", lambda: False)
    elif not confined_paths.has_openat2():
        pytest.skip("this kernel has no openat2")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret").write_text("secret")
    root = tmp_path / "volume"
    (root / "sub" / "dir").mkdir(parents=True)
    (root / "sub" / "file").write_text("inside")
    fd = os.open(root, os.O_PATH | os.O_DIRECTORY)
    yield root, fd
    os.close(fd)


def _read(fd):
    with open(os.open(confined_paths.path_of(fd), os.O_RDONLY)) as file:
        return file.read()


def _open_below(top):
    """Only these: other threads of this process open and close what they like."""
    found = set()
    for fd in os.listdir("/proc/self/fd"):
        with suppress(FileNotFoundError):  # closed meanwhile
            found.add((fd, os.readlink(f"/proc/self/fd/{fd}")))
    return {each for each in found if each[1].startswith(str(top))}


def _at(directory, path, **kwargs):
    fd = open_beneath(directory, path, **kwargs)
    try:
        return os.fstat(fd)
    finally:
        os.close(fd)


def test_a_path_inside_is_opened(volume):
    root, directory = volume

    fd = open_beneath(directory, "sub//./file")

    assert _read(fd) == "inside"
    os.close(fd)
    assert _at(directory, "").st_ino == root.stat().st_ino


@pytest.mark.parametrize("path", ["../outside/secret", "sub/../../outside", "/etc/passwd", "sub/.."])
def test_dots_and_absolute_paths_are_refused(volume, path):
    with pytest.raises(UnsafePathError):
        _at(volume[1], path)


@pytest.mark.parametrize("target", ["../../outside", "/etc", "dir"])
def test_without_links_every_symlink_is_refused(volume, target):
    root, directory = volume
    (root / "sub" / "link").symlink_to(target)

    with pytest.raises(UnsafePathError):
        _at(directory, "sub/link/x")


def test_with_links_a_symlink_that_stays_inside_is_followed_as_in_a_projected_volume(volume):
    root, directory = volume
    (root / "..data").symlink_to("sub")
    (root / "key").symlink_to("..data/file")

    fd = open_beneath(directory, "key", links=True)

    assert _read(fd) == "inside"
    os.close(fd)


@pytest.mark.parametrize("target", ["../outside/secret", "/etc/passwd", "/proc/self/root"])
def test_with_links_a_symlink_that_leaves_is_refused(volume, target):
    root, directory = volume
    (root / "link").symlink_to(target)

    with pytest.raises(UnsafePathError):
        _at(directory, "link", links=True)


def test_a_loop_of_symlinks_ends_in_an_error(volume):
    root, directory = volume
    (root / "a").symlink_to("b")
    (root / "b").symlink_to("a")

    with pytest.raises(UnsafePathError) as refused:
        _at(directory, "a", links=True)
    assert refused.value.errno == errno.ELOOP


def test_a_path_through_a_file_is_no_directory(volume):
    with pytest.raises(NotADirectoryError):
        _at(volume[1], "sub/file/more")


def test_missing_directories_are_created_with_the_given_mode_despite_the_umask(volume):
    root, directory = volume
    before = os.umask(0o077)
    try:
        fd = make_directories(directory, "sub/new/deep", 0o777)
    finally:
        os.umask(before)

    assert os.fstat(fd).st_ino == (root / "sub" / "new" / "deep").stat().st_ino
    os.close(fd)
    assert stat.S_IMODE((root / "sub" / "new").stat().st_mode) == 0o777
    assert stat.S_IMODE((root / "sub" / "new" / "deep").stat().st_mode) == 0o777


def test_directories_are_made_behind_a_symlink_that_stays_inside_and_behind_no_other(volume):
    root, directory = volume
    (root / "good").symlink_to("sub")
    (root / "bad").symlink_to("../outside")

    os.close(make_directories(directory, "good/made", 0o755))
    with pytest.raises(UnsafePathError):
        make_directories(directory, "bad/made", 0o755)

    assert (root / "sub" / "made").is_dir()
    assert not (root.parent / "outside" / "made").exists()


def test_a_dangling_symlink_is_not_made_into_a_directory(volume):
    root, directory = volume
    (root / "dangling").symlink_to("../outside/made")

    with pytest.raises(OSError):
        make_directories(directory, "dangling/x", 0o755)

    assert not (root.parent / "outside" / "made").exists()


def test_an_existing_file_is_opened_as_it_is(volume):
    _, directory = volume

    fd = make_directories(directory, "sub/file", 0o755)

    assert _read(fd) == "inside"
    os.close(fd)


def test_no_file_descriptor_is_left_open_by_what_fails(volume):
    root, directory = volume
    (root / "bad").symlink_to("/")
    before = _open_below(root.parent)

    for path in ("bad/x", "sub/file/x", "missing/x"):
        with pytest.raises(OSError):
            _at(directory, path, links=True)

    assert _open_below(root.parent) == before


@pytest.mark.parametrize("path", ["a/../b", "/a", "..", "a\0b"])
def test_only_relative_paths_without_dots_are_clean(path):
    with pytest.raises(UnsafePathError):
        clean_relative(path)


def test_a_clean_path_is_its_components():
    assert clean_relative("./a//b/./c..d/") == ["a", "b", "c..d"]
