"""What the fork server sees of its children while no descriptor is free."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from supervision import process_stat
from supervision.fork_server.spare_descriptor import SpareDescriptor
from supervision.fork_server.starvation import Starvation


@contextmanager
def no_free_descriptor() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    lowest = os.open("/", os.O_PATH)
    os.close(lowest)
    resource.setrlimit(resource.RLIMIT_NOFILE, (lowest, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_stopped_process_is_known_while_no_descriptor_is_free() -> None:
    child = subprocess.Popen(["sleep", "100"])
    try:
        child.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, child.pid, os.WSTOPPED)
        spare = SpareDescriptor()
        with no_free_descriptor():
            assert not process_stat.is_stopped(child.pid)
            for _ in range(2):
                with spare.lent():
                    assert process_stat.is_stopped(child.pid)
                assert len(spare.fds()) == 1
        os.close(spare.fds()[0])
    finally:
        child.kill()
        child.wait()


def test_what_cannot_be_read_of_a_silent_process_ends_no_wait_for_a_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    readable, used = [True], [5.0]
    monkeypatch.setattr(process_stat, "state", lambda pid: "R" if readable[0] else "")
    monkeypatch.setattr(process_stat, "cpu_seconds", lambda pid: used[0] if readable[0] else 0.0)
    waits = Starvation()
    assert waits.seconds("a", 7, 1.0, 10.0) == 0.0
    assert waits.seconds("a", 7, 1.0, 12.0) == 2.0
    readable[0] = False
    assert waits.seconds("a", 7, 1.0, 14.0) == 2.0
    readable[0] = True
    assert waits.seconds("a", 7, 1.0, 16.0) == 6.0
