"""What systemd is told of the deadlines of the agent."""

import socket
from pathlib import Path

import pytest

from supervision.fork_server.loop import Loop
from supervision.fork_server.process_table import ProcessTable
from supervision.fork_server.watchdog import START_SECONDS, Watchdog
from supervision.spec import ChildSpec, Policy

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("start_seconds", "extended"),
    [(10.0, 0.0), (START_SECONDS - 1, 0.0), (START_SECONDS, 2 * START_SECONDS), (300.0, START_SECONDS + 300.0)],
)
def test_a_child_that_starts_longer_than_systemd_waits_gets_its_time(
    start_seconds: float, extended: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))
    monkeypatch.delenv("WATCHDOG_USEC", raising=False)
    tree = ChildSpec(name="root", children=(ChildSpec(name="runtime", program=("p",)),))
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.bind(str(tmp_path / "notify"))
        systemd.setblocking(False)
        Watchdog(Loop(), ProcessTable(tree, {"runtime": Policy(start_seconds=start_seconds)}))
        said = systemd.recv(4096) if extended else b""
        assert said == (f"EXTEND_TIMEOUT_USEC={round(extended * 1e6)}".encode() if extended else b"")
        with pytest.raises(BlockingIOError):
            systemd.recv(4096)
