"""Facts of processes, beside what psutil reads of them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import psutil
import pytest

from supervision import process_stat

ABSENT = 2**22 + 1
"""Above the largest PID of a kernel."""
ODDLY_NAMED = """
import ctypes, time
ctypes.CDLL(None).prctl(15, b") Z 1 (\\xff\\xfe", 0, 0, 0)
print("named", flush=True)
time.sleep(600)
"""


def test_start_and_processor_time_are_those_that_psutil_reads() -> None:
    own, tick = psutil.Process(), 1 / os.sysconf("SC_CLK_TCK")
    before = sum(own.cpu_times()[:2])
    used = process_stat.cpu_seconds(os.getpid())
    assert before - tick <= used <= sum(own.cpu_times()[:2]) + tick
    started_at = process_stat.started(os.getpid())
    assert started_at is not None
    assert abs(psutil.boot_time() + started_at - own.create_time()) < 2
    assert process_stat.start_ticks(os.getpid()) == str(round(started_at / tick))


def test_a_stopped_process_is_alive_and_a_zombie_is_not() -> None:
    child = subprocess.Popen(["sleep", "600"])
    try:
        assert process_stat.is_alive(child.pid)
        os.kill(child.pid, signal.SIGSTOP)
        os.waitid(os.P_PID, child.pid, os.WSTOPPED)
        assert process_stat.is_stopped(child.pid)
        assert process_stat.is_alive(child.pid)
        child.kill()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        assert process_stat.state(child.pid) == "Z"
        assert not process_stat.is_alive(child.pid)
        assert not process_stat.is_stopped(child.pid)
    finally:
        child.kill()
        child.wait()


WITHOUT_DESCRIPTORS = f"""
import os, resource
from supervision import process_stat
from supervision.messaging.names import is_ending
resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))
assert process_stat.fields(os.getppid()) == []
print(process_stat.is_alive(os.getppid()), is_ending(os.getppid()))
print(process_stat.is_alive({ABSENT}), is_ending({ABSENT}), process_stat.is_alive(0), process_stat.is_alive(-1))
"""


def test_a_process_is_not_gone_because_there_is_no_descriptor_to_look_at_it() -> None:
    done = subprocess.run([sys.executable, "-c", WITHOUT_DESCRIPTORS], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("True False\nFalse True False False\n", "")


@pytest.mark.parametrize("pid", [ABSENT, 0, -1])
def test_a_missing_process_has_no_facts(pid: int) -> None:
    assert process_stat.fields(pid) == []
    assert process_stat.state(pid) == process_stat.start_ticks(pid) == ""
    assert not process_stat.is_alive(pid)
    assert process_stat.started(pid) is None
    assert process_stat.cpu_seconds(pid) == 0.0


def test_a_name_with_a_parenthesis_spaces_and_odd_bytes_shifts_no_field() -> None:
    with subprocess.Popen([sys.executable, "-c", ODDLY_NAMED], stdout=subprocess.PIPE) as child:
        try:
            assert child.stdout is not None
            assert child.stdout.readline() == b"named\n"
            assert process_stat.state(child.pid) in ("R", "S")
            assert process_stat.fields(child.pid)[1] == str(os.getpid())
        finally:
            child.kill()
