import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from supervision.state_file import (
    MAX_BYTES,
    DamagedError,
    NotAFileError,
    StateFile,
    decode_versioned,
    encode_versioned,
    read_private,
    write_private,
)
from supervision.unfinished_files import remove_unfinished, temporary_name

SOURCES = Path(__file__).parents[3]


def test_a_state_with_a_name_of_a_file_that_is_not_utf8_is_written():
    written = encode_versioned({os.fsdecode(b"/m/\xff.yaml"): 1}, 1)
    assert decode_versioned(written, dict[str, int], 1) == {"/m/\N{REPLACEMENT CHARACTER}.yaml": 1}


def test_a_private_file_is_whole_and_for_the_owner_alone(tmp_path):
    path = tmp_path / "a" / "file"
    write_private(path, b"one")
    write_private(path, b"two", sync=False)
    assert path.read_bytes() == b"two"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert os.listdir(path.parent) == ["file"]


@pytest.mark.timeout(20)
def test_a_fifo_under_the_temporary_name_does_not_block(tmp_path):
    os.mkfifo(temporary_name(tmp_path / "file"))
    write_private(tmp_path / "file", b"one")
    assert (tmp_path / "file").read_bytes() == b"one"
    assert os.listdir(tmp_path) == ["file"]


def test_a_file_of_another_user_under_the_temporary_name_is_not_written_to(tmp_path):
    other = os.open(temporary_name(tmp_path / "file"), os.O_RDWR | os.O_CREAT, 0o666)
    write_private(tmp_path / "file", b"secret")
    assert os.pread(other, 10, 0) == b""
    os.close(other)


def test_a_write_that_fails_leaves_what_was_there(tmp_path, monkeypatch):
    path = tmp_path / "file"
    write_private(path, b"one")

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("supervision.state_file.os.fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write_private(path, b"two")
    assert path.read_bytes() == b"one"
    assert os.listdir(tmp_path) == ["file"]


_KILLED = """
import os, signal, sys
from supervision.state_file import write_private
os.fsync = lambda descriptor: os.kill(os.getpid(), signal.SIGKILL)
write_private(sys.argv[1], b"two")
"""


def test_the_first_write_of_a_process_removes_what_killed_writers_left(tmp_path):
    path = tmp_path / "file"
    write_private(path, b"one")
    for _ in range(2):  # the second one removes what the first has left
        command = [sys.executable, "-c", _KILLED, str(path)]
        assert subprocess.run(command, check=False, cwd=SOURCES).returncode == -signal.SIGKILL
        assert (path.read_bytes(), len(os.listdir(tmp_path))) == (b"one", 2)
    strangers = {".file.1.unfinished", ".other.4194305", "unfinished"}  # of a process that runs, and of others
    for name in strangers:
        (tmp_path / name).touch()
    remove_unfinished.cache_clear()  # as in a new process
    write_private(tmp_path / "second", b"one")
    assert {*os.listdir(tmp_path)} == {"file", "second", *strangers}


@given(st.integers(0, 10_000), st.binary(min_size=1, max_size=3))
def test_damage_anywhere_is_noticed_or_leaves_the_value_as_it_was(place, junk):
    value = {"name": "a" * 16}
    sealed = encode_versioned(value, 1)
    place %= len(sealed)
    damaged = sealed[:place] + junk + sealed[place + len(junk) :]
    assume(damaged != sealed)
    try:
        found = decode_versioned(damaged, dict[str, str], 1)
    except DamagedError:
        return
    assert found == value


def test_what_is_undamaged_is_read():
    assert decode_versioned(encode_versioned({"name": "a"}, 1), dict[str, str], 1) == {"name": "a"}


def test_a_value_is_there_again_and_one_of_another_version_is_set_aside(tmp_path):
    file = StateFile(tmp_path / "state.json", list[int])
    assert file.load() is None
    file.save([1, 2])
    assert file.load() == [1, 2]
    with pytest.raises(DamagedError, match="version 1, not 2"):
        StateFile(tmp_path / "state.json", list[int], 2).load()
    assert file.load() is None
    assert (tmp_path / "state.json.damaged").exists()
    file.remove()


def make_fifo(path):
    os.mkfifo(path)


def make_directory(path):
    path.mkdir()


def make_endless(path):
    path.symlink_to("/dev/zero")


def make_huge(path):
    path.touch()
    os.truncate(path, MAX_BYTES + 1)


ODD = pytest.mark.parametrize("make", [make_fifo, make_directory, make_endless, make_huge])


@ODD
def test_a_path_that_is_not_a_file_is_refused_at_once_by_name(tmp_path, make):
    path = tmp_path / "file"
    make(path)
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(NotAFileError, match=str(path)):
        read_private(path)
    assert len(os.listdir("/proc/self/fd")) == before


@ODD
def test_anything_else_at_a_state_files_path_is_set_aside(tmp_path, make):
    file = StateFile(tmp_path / "file", dict[str, int])
    make(file.path)
    with pytest.raises(DamagedError, match=r"file is damaged and set aside: (not|Is) a|larger than"):
        file.load()
    assert os.path.lexists(file.damaged_path)
    assert file.load() is None
    file.save({"a": 1})
    assert file.load() == {"a": 1}


def test_a_link_to_a_file_is_followed(tmp_path):
    (tmp_path / "link").symlink_to("file")
    (tmp_path / "file").write_bytes(b"here")
    assert read_private(tmp_path / "link") == b"here"
    with pytest.raises(FileNotFoundError):
        read_private(tmp_path / "none")


def test_an_error_names_the_file_and_not_what_is_renamed_to_it(tmp_path):
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "file" / "state", tmp_path / ("n" * 300)):
        with pytest.raises(OSError) as raised:
            write_private(path, b"")
        assert raised.value.filename in {str(path), str(path.parent)}
        assert raised.value.filename2 is None


def test_a_directory_in_place_of_a_file_is_set_aside_beside_an_earlier_damaged_file(tmp_path):
    file = StateFile(tmp_path / "state", int)
    earlier = tmp_path / "state.damaged"
    earlier.write_text("earlier")
    file.path.mkdir()
    with pytest.raises(DamagedError, match="is damaged and set aside: Is a directory"):
        file.load()
    assert not file.path.exists()
    assert earlier.read_text() == "earlier"
    assert file.damaged_path != earlier
    assert file.damaged_path.is_dir()


def test_a_damaged_file_is_set_aside_beside_a_directory_with_its_next_name(tmp_path):
    (tmp_path / "file.damaged" / "earlier").mkdir(parents=True)
    (tmp_path / "file").write_text("junk")
    with pytest.raises(DamagedError, match="and set aside"):
        StateFile(tmp_path / "file", int).load()
    assert not (tmp_path / "file").exists()
    assert (tmp_path / "file.damaged" / "earlier").is_dir()
    assert [one.read_text() for one in tmp_path.glob("file.damaged.*")] == ["junk"]
