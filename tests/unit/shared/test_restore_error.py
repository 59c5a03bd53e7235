"""The text of a start with a state file that cannot be used."""

from __future__ import annotations

from pathlib import Path

import pytest

from actors.shared.restore_error import restore_error
from supervision.state_file import DamagedError, NotAFileError

FILE = "the CPU manager checkpoint file"


@pytest.mark.parametrize("error", [DamagedError("no JSON"), NotAFileError("no file")])
def test_a_damaged_file_is_to_be_deleted(tmp_path: Path, error: Exception) -> None:
    text, damaged = restore_error(tmp_path / "state", error, FILE)
    assert damaged == str(tmp_path / "state")
    assert text.endswith(f'please drain this node and delete {FILE} "{tmp_path}/state" before restarting Kubelet')


def test_a_file_that_cannot_be_read_may_be_good_and_is_kept() -> None:
    found = restore_error("/v/state", PermissionError(13, "Permission denied"), FILE)
    assert found == ("could not restore state from checkpoint: /v/state: Permission denied", "")
