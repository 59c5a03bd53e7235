"""Paths that stay inside their directory, by openat2 and by the walk for kernels without it."""

import ctypes
import errno
import os
import stat
from contextlib import suppress

import pytest

from actors.shared.linux import confined_paths
from actors.shared.linux.confined_paths import (
    UnsafePathError,
    clean_relative,
    make_directories,
    open_beneath,
    opened_beneath,
)
from supervision.errors import error_text


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


class Kernel:
    """Answers openat2 with these errors, one after the other, and then as this kernel does."""

    def __init__(self, monkeypatch, *errors):
        self.errors, self.calls = list(errors), 0
        self._call = confined_paths._libc.syscall
        monkeypatch.setattr(confined_paths, "_libc", self)
        confined_paths.has_openat2.cache_clear()

    def syscall(self, *arguments):
        self.calls += 1
        if self.errors:
            ctypes.set_errno(self.errors.pop(0))
            return -1
        return self._call(*arguments)


@pytest.fixture
def new_process():
    confined_paths.has_openat2.cache_clear()
    yield
    confined_paths.has_openat2.cache_clear()


@pytest.mark.parametrize("number", [errno.ENOSYS, errno.EPERM])
def test_a_kernel_or_a_filter_without_the_call_is_known_from_the_first_answer(monkeypatch, new_process, number):
    kernel = Kernel(monkeypatch, number)
    assert [confined_paths.has_openat2() for _ in range(2)] == [False, False]
    assert kernel.calls == 1


def test_a_process_without_a_free_descriptor_asks_the_kernel_again(monkeypatch, new_process):
    Kernel(monkeypatch, errno.EMFILE, errno.ENOSYS)
    with pytest.raises(OSError, match="Too many open files"):
        confined_paths.has_openat2()
    assert not confined_paths.has_openat2()


def test_the_kernel_is_asked_again_only_after_a_rename_or_a_signal(tmp_path, monkeypatch, new_process):
    if not confined_paths.has_openat2():
        pytest.skip("this kernel has no openat2")
    kernel = Kernel(monkeypatch, errno.EAGAIN, errno.EINTR)
    os.close(confined_paths.openat2(None, str(tmp_path), os.O_PATH | os.O_CLOEXEC, 0))
    assert kernel.calls == 3
    kernel = Kernel(monkeypatch, errno.EACCES)
    with pytest.raises(PermissionError):
        confined_paths.openat2(None, str(tmp_path), os.O_PATH, 0)
    assert kernel.calls == 1
    kernel = Kernel(monkeypatch, *[errno.EAGAIN] * 1000)
    with pytest.raises(BlockingIOError):
        confined_paths.openat2(None, str(tmp_path), os.O_PATH, 0)
    assert kernel.calls < 1000


def test_where_the_kernel_has_the_call_no_path_is_walked(tmp_path, monkeypatch, new_process):
    if tuple(map(int, os.uname().release.split(".")[:2])) < (5, 6):
        pytest.skip("openat2 came with Linux 5.6")
    monkeypatch.setattr(confined_paths, "_walk", lambda *_, **__: pytest.fail("it is walked"))
    (tmp_path / "a").mkdir()
    top = os.open(tmp_path, os.O_PATH | os.O_DIRECTORY)
    os.close(open_beneath(top, "a"))
    os.close(top)


def test_a_directory_that_is_opened_for_a_block_leaves_no_descriptor(tmp_path):
    (tmp_path / "a").mkdir()
    with confined_paths.opened_beneath(str(tmp_path), "a") as path:
        assert os.path.samefile(path, tmp_path / "a")
        assert len(_open_below(tmp_path)) == 1
    assert _open_below(tmp_path) == set()


def test_an_error_below_an_opened_directory_names_its_path(tmp_path):
    (tmp_path / "a").mkdir()
    with pytest.raises(OSError) as raised, opened_beneath(str(tmp_path), "a") as opened:
        os.rename(f"{opened}/x", f"{opened}/y")
    assert error_text(raised.value) == f"{tmp_path}/a/x, {tmp_path}/a/y: No such file or directory"
