"""The node's mount program, played by scripts."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from actors.volume_manager.host.mount_program import mount_by_program


def run(folder: Path, script: str, seconds: float = 30.0) -> str:
    mounter = folder / "mounter"
    mounter.write_text(f"#!/bin/sh\n{script}\n")
    mounter.chmod(0o755)
    return mount_by_program("s:/", str(folder / "at"), "nfs", ["ro"], str(mounter), seconds)


def test_the_error_of_a_mount_has_the_command_and_leaves_no_directory(tmp_path: Path) -> None:
    error = run(tmp_path, "echo one; echo two >&2; exit 32")
    command = f"Mounting command: {tmp_path}/mounter\nMounting arguments: mount -t nfs -o ro s:/ {tmp_path}/at"
    assert error == f"mount failed: exit status 32\n{command}\nOutput: one\ntwo"
    assert not os.path.exists(tmp_path / "at")


def test_a_missing_program_is_an_error(tmp_path: Path) -> None:
    error = mount_by_program("s:/", str(tmp_path / "at"), "nfs", [], str(tmp_path / "none"), 5.0)
    assert "No such file or directory" in error
    assert not os.path.exists(tmp_path / "at")


@pytest.mark.slow
def test_a_mount_that_does_not_end_is_killed_with_its_children(tmp_path: Path) -> None:
    error = run(tmp_path, f"sleep 300 & echo $! >{tmp_path}/pid; wait", seconds=5.0)
    assert "still running after 5 s" in error
    pid, end = int((tmp_path / "pid").read_text()), time.monotonic() + 30
    while _lives(pid):
        assert time.monotonic() < end, "what it started goes on"
        time.sleep(0.02)


def _lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize("script", ["exit 0", "echo fine; exit 0"])
def test_success_is_no_error_and_leaves_the_directory(tmp_path: Path, script: str) -> None:
    assert run(tmp_path, script) == ""
    assert (tmp_path / "at").is_dir()
