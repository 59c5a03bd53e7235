import os
import stat

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervision.state_file import DamagedError, StateFile, seal, unseal, write_private


def test_a_private_file_is_whole_and_for_the_owner_alone(tmp_path):
    path = tmp_path / "a" / "file"
    write_private(path, b"one")
    write_private(path, b"two", sync=False)
    assert path.read_bytes() == b"two"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert os.listdir(path.parent) == ["file"]


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


@given(st.integers(0, 10_000), st.binary(min_size=1, max_size=3))
def test_damage_anywhere_is_noticed(place, junk):
    sealed = seal({"name": "a" * 16}, 1)
    place %= len(sealed)
    damaged = sealed[:place] + junk + sealed[place + len(junk) :]
    try:
        found = unseal(damaged, dict[str, str], 1)
    except DamagedError:
        return
    assert found == {"name": "a" * 16}


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
