"""What systemd hears: ready when all is in service, the watchdog while the root is well, stopping."""

import os
import signal
import socket
import time
from pathlib import Path

import pytest

from tests.support.stage_process import stage_running
from tests.support.tree_actors import HERE

pytestmark = pytest.mark.tree


def _lines(sock: socket.socket, seconds: float) -> list[str]:
    found: list[str] = []
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        sock.settimeout(left)
        try:
            found += sock.recv(4096).decode().splitlines()
        except TimeoutError:
            break
    return found


def test_ready_watchdog_and_stopping_are_told(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
        sock.bind(str(tmp_path / "notify"))
        environment = {"NOTIFY_SOCKET": str(tmp_path / "notify"), "WATCHDOG_USEC": "200000"}
        with stage_running(f"{HERE}:lasting", tmp_path / "run", **environment) as stage:
            assert "READY=1" in _lines(sock, 0.3)
            assert _lines(sock, 0.5).count("WATCHDOG=1") >= 3
            os.kill(stage.pid("root"), signal.SIGSTOP)
            time.sleep(1.2)  # its heartbeat_seconds are 1 here
            _lines(sock, 0.2)
            stage.wait_running("root", incarnation=2)
            assert "WATCHDOG=1" in _lines(sock, 0.5)
            stage.process.send_signal(signal.SIGTERM)
            stage.wait_end()
            assert "STOPPING=1" in _lines(sock, 0.2)
