"""The record of a start that was refused."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from actors.shared.config.start import refused_starts
from supervision.fork_server.lock import Lock


@pytest.fixture
def run_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    return str(tmp_path / "run")


def test_a_refused_start_is_remembered_with_its_readable_flags_until_one_succeeds(run_dir: str) -> None:
    words = ["--config=c.yaml", "--nope", "--manifest-url-header=a:secret", "--runonce=false", "--enable-server=false"]
    refused_starts.record([f"--run-dir={run_dir}", *words], ["--nope: unknown flag", "maxPods: no"])
    found = refused_starts.last_of(run_dir)
    assert found is not None
    assert found.problems == ("--nope: unknown flag", "maxPods: no")
    assert found.flags == (f"--run-dir={run_dir}", f"--config={os.getcwd()}/c.yaml")
    assert found.directory == os.getcwd()
    assert refused_starts.file_of(run_dir).stat().st_mode & 0o777 == 0o600
    refused_starts.forget(run_dir)
    refused_starts.forget(run_dir)
    assert refused_starts.last_of(run_dir) is None


def test_a_start_beside_an_agent_that_runs_is_not_remembered(run_dir: str, tmp_path: Path) -> None:
    for root, lock in (("a", run_dir), ("root", str(tmp_path / "root/troupelet"))):
        Path(lock).mkdir(parents=True)
        held = Lock(Path(lock))
        refused_starts.record([f"--run-dir={run_dir}", f"--root-dir={tmp_path}/{root}"], ["an agent already runs"])
        held.release()
        assert refused_starts.last_of(run_dir) is None


def test_a_damaged_or_unwritable_record_is_none(run_dir: str) -> None:
    refused_starts.file_of(run_dir).write_text("{")
    assert refused_starts.last_of(run_dir) is None
    refused_starts.record(["--run-dir=/proc/none/run"], ["no"])
    assert refused_starts.last_of("/proc/none/run") is None
