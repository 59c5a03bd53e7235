import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from supervision import sd_notify


@pytest.fixture(params=["file", "abstract"])
def manager(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    """What systemd listens on."""
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    sock.settimeout(2)
    if request.param == "file":
        sock.bind(str(tmp_path / "notify"))
        monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))
    else:
        name = f"troupelet-test-{os.getpid()}"
        sock.bind("\0" + name)
        monkeypatch.setenv("NOTIFY_SOCKET", "@" + name)
    yield sock
    sock.close()


def test_sd_notify_reports_ready_with_status_and_main_pid(manager: socket.socket) -> None:
    sd_notify.ready("17 actors in service")
    assert manager.recv(4096).decode().split("\n") == [
        "READY=1",
        "STATUS=17 actors in service",
        f"MAINPID={os.getpid()}",
    ]


def test_sd_notify_reports_stopping_status_watchdog_and_deadlines(manager: socket.socket) -> None:
    sd_notify.stopping()
    sd_notify.status("degraded:\npleg")
    sd_notify.ping()
    sd_notify.set_watchdog(600)
    sd_notify.extend_timeout(0.25)
    assert manager.recv(4096) == b"STOPPING=1\nSTATUS=stopping"
    assert manager.recv(4096) == b"STATUS=degraded: pleg"
    assert manager.recv(4096) == b"WATCHDOG=1"
    assert manager.recv(4096) == b"WATCHDOG_USEC=600000000"
    assert manager.recv(4096) == b"EXTEND_TIMEOUT_USEC=250000"


@pytest.mark.parametrize("path", ["", "relative", "/nobody/is/here"])
def test_sd_notify_is_silent_without_a_listener(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NOTIFY_SOCKET", path)
    assert not sd_notify.notify("READY=1")


def test_a_listener_that_does_not_read_does_not_block_sd_notify(manager: socket.socket) -> None:
    sent = 0
    while sd_notify.notify("WATCHDOG=1") and sent < 10_000:
        sent += 1
    assert 0 < sent < 10_000


@pytest.mark.parametrize(
    ("usec", "pid", "seconds"),
    [
        (None, None, 0.0),
        ("30000000", None, 30.0),
        ("30000000", "ours", 30.0),
        ("30000000", "1", 0.0),
        ("a lot", None, 0.0),
    ],
)
def test_the_watchdog_interval_is_that_of_the_unit_and_for_this_process_only(
    usec: str | None, pid: str | None, seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    pid = str(os.getpid()) if pid == "ours" else pid
    for name, value in (("WATCHDOG_USEC", usec), ("WATCHDOG_PID", pid)):
        monkeypatch.setenv(name, value) if value is not None else monkeypatch.delenv(name, raising=False)
    assert sd_notify.watchdog_interval() == seconds
