"""The sandbox's program, run as it is: no container is needed to see what it does."""

from __future__ import annotations

import os
import platform
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from actors.container_runtime import pause
from tests.support.waiting import wait_for

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="the program is for x86-64")
PR_SET_CHILD_SUBREAPER = 36


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "pause"
    path.write_bytes(pause.x86_64())
    path.chmod(0o755)
    return path


@pytest.fixture
def process(program: Path) -> Iterator[subprocess.Popen[bytes]]:
    running = subprocess.Popen([program])
    try:
        wait_for(lambda: waits(running.pid))
        yield running
    finally:
        running.kill()
        running.wait()


def field(pid: int, name: str) -> str:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(line.partition(":")[2].strip() for line in lines if line.startswith(f"{name}:"))


def waits(pid: int) -> bool:
    """In sigtimedwait(2), with nothing left to take."""
    call = Path(f"/proc/{pid}/syscall").read_text().split()[0]
    return field(pid, "Name") == "pause" and call == "128" and int(field(pid, "ShdPnd"), 16) == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_pause_program_exits_with_0_on_a_signal(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    process.send_signal(number)
    assert process.wait(10) == 0


def test_the_pause_program_ignores_other_signals(process: subprocess.Popen[bytes]) -> None:
    for number in (signal.SIGHUP, signal.SIGUSR1, signal.SIGQUIT, signal.SIGWINCH, signal.SIGRTMAX):
        process.send_signal(number)
    wait_for(lambda: waits(process.pid))
    assert process.poll() is None


SUBREAPER = """
import ctypes, os, signal, sys
ctypes.CDLL(None).prctl(int(sys.argv[1]), 1)
if os.fork() == 0:
    if (orphan := os.fork()) == 0:
        signal.pause()
    print(orphan, flush=True)
    os._exit(0)
os.execv(sys.argv[2], sys.argv[2:])
"""


def test_the_pause_program_reaps_orphans(program: Path) -> None:
    """As pid 1 of a shared pid namespace, or here as a subreaper, which survives the exec."""
    command = [sys.executable, "-c", SUBREAPER, str(PR_SET_CHILD_SUBREAPER), str(program)]
    parent = subprocess.Popen(command, stdout=subprocess.PIPE)
    assert parent.stdout is not None
    orphan = int(parent.stdout.readline())
    try:
        wait_for(lambda: waits(parent.pid))
        wait_for(lambda: field(orphan, "PPid") == str(parent.pid))
        os.kill(orphan, signal.SIGKILL)
        wait_for(lambda: not Path(f"/proc/{orphan}").exists())
    finally:
        parent.terminate()
        parent.stdout.close()
        assert parent.wait(30) == 0


def test_the_pause_program_is_small(process: subprocess.Popen[bytes], program: Path) -> None:
    assert program.stat().st_size < 512
    assert int(field(process.pid, "VmRSS").split()[0]) <= 64
