"""What tests/run.py says that tests have left behind."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.left_behind import KEPT_BY_PYTEST, left_behind, of_agents

pytestmark = pytest.mark.tree


@pytest.fixture
def cat(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process that keeps its temporary files below the directory of the run."""
    environment = {**os.environ, "TMPDIR": str(tmp_path / "of-one-test")}
    with subprocess.Popen(["cat"], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"there\n")
        process.stdin.flush()
        assert process.stdout.readline() == b"there\n"  # before, /proc may still have no environment of it
        yield process
        process.kill()


def _left(directory: Path, seconds: float = 0.0) -> list[str]:
    return left_behind(directory, seconds, of_agents())


def test_a_file_is_reported_and_the_directory_of_pytest_is_not(tmp_path: Path) -> None:
    (tmp_path / KEPT_BY_PYTEST).mkdir()
    assert _left(tmp_path) == []
    (tmp_path / "org.chromium.1").mkdir()
    assert _left(tmp_path) == [f"file {tmp_path}/org.chromium.1"]


def test_a_process_is_identified_by_its_command_line(tmp_path: Path, cat: subprocess.Popen[bytes]) -> None:
    other = tmp_path / "other"
    other.mkdir()
    assert f"process {cat.pid}: cat" in _left(tmp_path)
    assert _left(other) == []


def test_processes_that_end_in_time_are_not_reported(tmp_path: Path, cat: subprocess.Popen[bytes]) -> None:
    cat.kill()
    assert _left(tmp_path, 60.0) == []


def test_what_agents_have_elsewhere_is_reported_unless_it_was_there_before(tmp_path: Path) -> None:
    host, files = tmp_path / "host", tmp_path / "files"
    files.mkdir()
    (host / "run/troupelet-1").mkdir(parents=True)
    known = of_agents(host)
    left = [
        host / "run/troupelet-2-refused",
        host / "sys/fs/cgroup/memory/troupelet-test-1",
        host / "sys/fs/cgroup/troupelet-test-1",
    ]
    for path in left:
        path.mkdir(parents=True)
    assert left_behind(files, 0.0, known, host) == [f"of an agent {path}" for path in left]
