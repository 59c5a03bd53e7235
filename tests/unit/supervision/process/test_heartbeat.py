"""The heartbeat tells the fork server what `supervise status` says of the actor's files."""

import asyncio
import errno
from types import SimpleNamespace
from typing import Any, NoReturn

from supervision.process.heartbeat import Heartbeat
from supervision.process_messages import ServiceState
from supervision.protocol import FORK_SERVER
from supervision.unwritten_files import SERVICE, UNWRITTEN


class Port(SimpleNamespace):
    def actor_send(self, target, message):
        self.sent.append((target.addressDetails, message))


def _crash(message: str, error: BaseException) -> NoReturn:
    raise error


def _heartbeat(port):
    entry: Any = SimpleNamespace(beat=lambda now: None, count=lambda counts: None)
    inbox: Any = type("Inbox", (list,), {"handled": 0})()
    runner: Any = []
    return Heartbeat(entry, 3600.0, port, inbox, runner, _crash)


async def _told(tmp_path):
    port = Port(sent=[], waiting=0, losses=SimpleNamespace(dropped=0, dead_letters=0))
    UNWRITTEN.failed(tmp_path / "old", OSError(errno.EIO, "of the process that forked this one"))
    heartbeat = _heartbeat(port)
    heartbeat.beat()
    assert port.sent == []
    heartbeat.connected()
    heartbeat.beat()
    UNWRITTEN.failed(tmp_path / "a", OSError(errno.EROFS, "Read-only file system"))
    heartbeat.beat()
    heartbeat.beat()
    UNWRITTEN.written(tmp_path / "a")
    heartbeat.beat()
    return port.sent


def test_the_files_that_an_actor_cannot_write_are_told_once_and_withdrawn(tmp_path):
    """What the last incarnation told is withdrawn first."""
    (target, first), (_, told), (_, withdrawn) = asyncio.run(_told(tmp_path))
    assert target == FORK_SERVER
    assert first == withdrawn == ServiceState(SERVICE)
    assert told.service == SERVICE
    assert told.text == f"{tmp_path}/a cannot be written: Read-only file system"
