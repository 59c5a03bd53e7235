"""What tests/run.py says that tests have left behind."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.left_behind import KEPT_BY_PYTEST, left_behind

pytestmark = pytest.mark.tree


@pytest.fixture
def sleeper(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process that keeps its temporary files below the directory of the run."""
    environment = {**os.environ, "TMPDIR": str(tmp_path / "of-one-test")}
    with subprocess.Popen(["sleep", "1000"], env=environment) as process:
        yield process
        process.kill()


def test_a_file_is_reported_and_the_directory_of_pytest_is_not(tmp_path: Path) -> None:
    (tmp_path / KEPT_BY_PYTEST).mkdir()
    assert left_behind(tmp_path, 0.0) == []
    (tmp_path / "org.chromium.1").mkdir()
    assert left_behind(tmp_path, 0.0) == [f"file {tmp_path}/org.chromium.1"]


def test_a_process_is_identified_by_its_command_line(tmp_path: Path, sleeper: subprocess.Popen[bytes]) -> None:
    other = tmp_path / "other"
    other.mkdir()
    assert f"process {sleeper.pid}: sleep 1000" in left_behind(tmp_path, 0.0)
    assert left_behind(other, 0.0) == []


def test_processes_that_end_in_time_are_not_reported(tmp_path: Path, sleeper: subprocess.Popen[bytes]) -> None:
    sleeper.kill()
    assert left_behind(tmp_path, 60.0) == []
