"""The files that could not be written are told until they can be."""

import errno
import os

import pytest

from supervision import quarantine, state_file
from supervision.quarantine import Journal
from supervision.state_file import StateFile, write_private
from supervision.unwritten_files import UnwrittenFiles


class Clock:
    now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def unwritten(clock, monkeypatch):
    files = UnwrittenFiles(clock)
    monkeypatch.setattr(state_file, "UNWRITTEN", files)
    monkeypatch.setattr(quarantine, "UNWRITTEN", files)
    return files


def _failing(monkeypatch, name, number):
    def fail(*_args, **_options):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, name, fail)


def test_a_file_that_cannot_be_written_is_told_until_it_is_written(tmp_path, unwritten, clock, monkeypatch):
    with monkeypatch.context() as patch:
        _failing(patch, "replace", errno.EIO)
        for _ in range(2):
            with pytest.raises(OSError, match="Input/output"):
                write_private(tmp_path / "a", b"one")
            clock.now += 5.0
        assert unwritten.report() == (f"{tmp_path}/a cannot be written: Input/output error", 100.0)
    write_private(tmp_path / "a", b"one")
    assert unwritten.report() == ("", 0.0)


def test_of_many_files_a_few_are_named_by_their_reason(tmp_path, unwritten):
    for name in "abcde":
        unwritten.failed(tmp_path / name, OSError(errno.ENOSPC, "No space left on device"))
    unwritten.failed(tmp_path / "f", OSError(errno.EROFS, "Read-only file system"))
    text, _ = unwritten.report()
    few = ", ".join(f"{tmp_path}/{name}" for name in "abc")
    assert text == (
        f"{few} and 2 more cannot be written: No space left on device; "
        f"{tmp_path}/f cannot be written: Read-only file system"
    )


def test_a_file_that_nobody_writes_again_is_told_until_its_directory_can_be_written(
    tmp_path, unwritten, clock, monkeypatch
):
    unwritten.failed(tmp_path / "a", OSError(errno.ENOSPC, "No space left on device"))
    clock.now += 9.0
    assert unwritten.report()[0]
    clock.now += 1.0
    with monkeypatch.context() as patch:
        _failing(patch, "write", errno.EIO)
        assert unwritten.report() == (f"{tmp_path}/a cannot be written: Input/output error", 100.0)
    clock.now += 10.0
    assert unwritten.report() == ("", 0.0)
    assert os.listdir(tmp_path) == []


def test_a_file_of_a_removed_directory_is_not_told(tmp_path, unwritten):
    (tmp_path / "pod").mkdir()
    unwritten.failed(tmp_path / "pod" / "a", OSError(errno.EIO, "Input/output error"))
    assert unwritten.report()[0]
    (tmp_path / "pod").rmdir()
    assert unwritten.report() == ("", 0.0)


def test_a_directory_that_cannot_be_made_is_told(tmp_path, unwritten, monkeypatch):
    _failing(monkeypatch, "makedirs", errno.EIO)
    with pytest.raises(OSError, match="Input/output"):
        write_private(tmp_path / "new" / "a", b"one")
    assert unwritten.report()[0] == f"{tmp_path}/new/a cannot be written: Input/output error"


def test_a_file_that_is_removed_is_not_wanted_any_more(tmp_path, unwritten):
    unwritten.failed(tmp_path / "a", OSError(errno.EIO, "Input/output error"))
    StateFile(tmp_path / "a", str).remove()
    assert unwritten.report() == ("", 0.0)


def test_a_journal_of_inputs_that_cannot_be_written_is_told(tmp_path, unwritten, monkeypatch):
    journal = Journal(tmp_path)
    with monkeypatch.context() as patch:
        _failing(patch, "pwrite", errno.ENOSPC)
        with journal.handling("input"):
            assert unwritten.report()[0] == f"{tmp_path}/current cannot be written: No space left on device"
    with journal.handling("input"):
        assert unwritten.report() == ("", 0.0)
    journal.close()
