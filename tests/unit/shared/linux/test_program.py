"""A program of the host ends with whoever runs it, whoever holds its pipes."""

import asyncio
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from actors.shared.linux.program import PIPE, running


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


async def test_a_program_reads_prints_and_ends() -> None:
    async with running(["/bin/sh", "-c", "cat; echo why >&2; exit 3"], stdin=PIPE) as process:
        assert await process.communicate(b"given") == (b"given", b"why\n")
    assert process.returncode == 3


async def test_a_program_whose_output_is_not_read_is_killed_and_leaves_no_descriptor() -> None:
    before = descriptors()
    async with asyncio.timeout(30), running(["/bin/sh", "-c", "yes >&2 & exec yes"]) as process:
        assert process.stdout is not None
        await process.stdout.read(1)
        await asyncio.to_thread(_wait_until_blocked, process.pid)
    assert process.returncode == -signal.SIGKILL
    await asyncio.sleep(0)
    assert descriptors() <= before


async def test_a_program_that_does_not_read_its_input_is_killed() -> None:
    async with asyncio.timeout(30), running(["/bin/sleep", "60"], stdin=PIPE) as process:
        assert process.stdin is not None
        process.stdin.write(bytes(1 << 20))
    assert process.returncode == -signal.SIGKILL


async def test_a_process_in_its_own_session_that_holds_the_pipes_delays_nothing() -> None:
    before = descriptors()
    async with asyncio.timeout(30), running(["/bin/sh", "-c", "setsid sleep 60 & echo $!; exec sleep 60"]) as process:
        assert process.stdout is not None
        other = int(await process.stdout.readline())
        await asyncio.to_thread(_wait_for_session, other)
    try:
        assert process.returncode == -signal.SIGKILL
        await asyncio.sleep(0)
        assert descriptors() <= before
    finally:
        os.kill(other, signal.SIGKILL)


async def test_a_process_that_a_program_leaves_behind_is_killed_too() -> None:
    async with asyncio.timeout(30), running(["/bin/sh", "-c", "sleep 600 & echo $!"]) as process:
        assert process.stdout is not None
        other = int(await process.stdout.readline())
        while process.returncode is None:
            await asyncio.sleep(0.01)
    await asyncio.to_thread(_wait, lambda: not _runs(other))


async def test_a_reused_pid_is_not_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    killed: list[int] = []
    async with running(["/bin/true"]) as process:
        await process.wait()
        monkeypatch.setattr(os.path, "exists", lambda path: path == f"/proc/{process.pid}")
        monkeypatch.setattr(os, "killpg", lambda group, number: killed.append(group))
    assert killed == []


async def test_a_program_that_ends_while_being_killed_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.killpg

    def too_late(group: int, number: int) -> None:
        real(group, number)
        raise ProcessLookupError

    monkeypatch.setattr(os, "killpg", too_late)
    async with asyncio.timeout(30), running(["/bin/sleep", "60"]) as process:
        pass
    assert process.returncode == -signal.SIGKILL


async def test_a_missing_program_is_an_error() -> None:
    with pytest.raises(FileNotFoundError):
        async with running(["/bin/there-is-none"]):
            pass


def _runs(pid: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


def _wait_until_blocked(pid: int) -> None:
    """Until it sleeps, as its pipe is full: then what was read waits in the buffers here."""
    _wait(lambda: "\nState:\tS" in Path(f"/proc/{pid}/status").read_text())


def _wait_for_session(pid: int) -> None:
    _wait(lambda: os.getsid(pid) == pid)


def _wait(found: Callable[[], bool]) -> None:
    until = time.monotonic() + 20
    while not found():
        assert time.monotonic() < until
        time.sleep(0.01)
