"""What systemd hears: ready when all is in service, the watchdog while the root is well, stopping."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from tests.support.fork_server_process import fork_server_running
from tests.support.service_manager import ServiceManager
from tests.support.tree_actors import HERE
from tests.support.waiting import wait_for

pytestmark = pytest.mark.tree


def test_ready_watchdog_and_stopping_are_reported(tmp_path: Path) -> None:
    with ServiceManager(tmp_path / "notify") as systemd:
        environment = {**systemd.environment, "WATCHDOG_USEC": "200000"}
        with fork_server_running(f"{HERE}:lasting", tmp_path / "run", **environment) as fork_server:
            wait_for(lambda: systemd.count("READY=1") == 1)
            systemd.wait_for("WATCHDOG=1", count=3, within=0.5)
            os.kill(fork_server.pid("root"), signal.SIGSTOP)
            time.sleep(1.2)  # its heartbeat_seconds are 1 here
            fork_server.wait_running("root", incarnation=2)
            systemd.wait_for("WATCHDOG=1")
            assert systemd.count("STOPPING=1") == 0
            fork_server.process.send_signal(signal.SIGTERM)
            fork_server.wait_end()
            wait_for(lambda: systemd.count("STOPPING=1") == 1)


def test_systemd_gets_longer_deadlines_on_a_slow_machine(tmp_path: Path) -> None:
    with ServiceManager(tmp_path / "notify") as systemd:
        environment = {**systemd.environment, "WATCHDOG_USEC": "200000", "SUPERVISION_TIME_SCALE": "5"}
        with fork_server_running(f"{HERE}:lasting", tmp_path / "run", **environment) as fork_server:
            wait_for(lambda: systemd.count("READY=1") == 1)
            told = [systemd.count(line) for line in ("WATCHDOG_USEC=1000000", "EXTEND_TIMEOUT_USEC=450000000")]
            assert told == [1, 1]
            fed = systemd.count("WATCHDOG=1")
            started_at = time.monotonic()
            wait_for(lambda: systemd.count("WATCHDOG=1") == fed + 4)
            assert time.monotonic() - started_at > 1.0  # four times half a second, the first of them sooner
            fork_server.process.send_signal(signal.SIGTERM)
            wait_for(lambda: systemd.count("EXTEND_TIMEOUT_USEC=750000000") == 1)
            fork_server.wait_end()
