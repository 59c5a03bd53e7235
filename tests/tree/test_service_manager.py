"""What systemd hears: ready when all is in service, the watchdog while the root is well, stopping."""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
from pathlib import Path

import pytest

from tests.support.stage_process import stage_running
from tests.support.tree_actors import HERE
from tests.support.waiting import wait_for

pytestmark = pytest.mark.tree


class ServiceManager:
    """Hears what is told on its socket, at once: a few datagrams fill that, and what comes then is lost."""

    def __init__(self, path: Path) -> None:
        self.environment = {"NOTIFY_SOCKET": str(path)}
        self._heard: list[tuple[float, str]] = []
        self._sock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._sock.bind(str(path))
        self._sock.settimeout(0.1)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._listen, daemon=True)

    def _listen(self) -> None:
        while not self._ended.is_set():
            try:
                lines = self._sock.recv(4096).decode().splitlines()
            except TimeoutError:
                continue
            self._heard += [(time.monotonic(), line) for line in lines]

    def __enter__(self) -> ServiceManager:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()
        self._sock.close()

    def count(self, line: str, since: float = 0.0) -> int:
        """How often it has heard that, since then by CLOCK_MONOTONIC."""
        return sum(said == line and when > since for when, said in list(self._heard))

    def wait_for(self, line: str, count: int = 1, within: float = 20.0) -> None:
        """Until it hears from now on so many of what is told again and again, in so many seconds."""
        began = time.monotonic()
        wait_for(lambda: self.count(line, max(began, time.monotonic() - within)) >= count)


def test_ready_watchdog_and_stopping_are_told(tmp_path: Path) -> None:
    with ServiceManager(tmp_path / "notify") as systemd:
        environment = {**systemd.environment, "WATCHDOG_USEC": "200000"}
        with stage_running(f"{HERE}:lasting", tmp_path / "run", **environment) as stage:
            wait_for(lambda: systemd.count("READY=1") == 1)
            systemd.wait_for("WATCHDOG=1", count=3, within=0.5)
            os.kill(stage.pid("root"), signal.SIGSTOP)
            time.sleep(1.2)  # its heartbeat_seconds are 1 here
            stage.wait_running("root", incarnation=2)
            systemd.wait_for("WATCHDOG=1")
            assert systemd.count("STOPPING=1") == 0
            stage.process.send_signal(signal.SIGTERM)
            stage.wait_end()
            wait_for(lambda: systemd.count("STOPPING=1") == 1)
