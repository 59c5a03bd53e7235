"""The heartbeat tells the fork server what `supervise status` says of the actor's files."""

import asyncio
import errno
from types import SimpleNamespace
from typing import Any, NoReturn

import pytest

from supervision.process.descriptors import Descriptors
from supervision.process.heartbeat import Heartbeat
from supervision.process_messages import ServiceState
from supervision.protocol import FORK_SERVER
from supervision.unwritten_files import SERVICE, UNWRITTEN


class Port(SimpleNamespace):
    def actor_send(self, target, message):
        self.sent.append((target.addressDetails, message))


def _crash(message: str, error: BaseException) -> NoReturn:
    raise error


class Entry:
    """The entry of the status page."""

    def __init__(self):
        self.beats, self.counts = [], []

    def beat(self, now):
        self.beats.append(now)

    def count(self, counts):
        self.counts.append(counts)


def _heartbeat(port, entry=None, period=3600.0):
    inbox: Any = type("Inbox", (list,), {"handled": 5})("a mailbox")
    runner: Any = ["a task", "another"]
    shown: Any = entry or Entry()
    return Heartbeat(shown, period, port, inbox, runner, _crash)


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


def test_the_counts_of_messages_are_shown_with_each_beat():
    async def beat():
        entry, port = Entry(), Port(sent=[], waiting=7, losses=SimpleNamespace(dropped=3, dead_letters=4))
        _heartbeat(port, entry).beat()
        return entry

    entry = asyncio.run(beat())
    handled, dropped, dead_letters, mailbox, tasks, outgoing = entry.counts[0]
    assert (handled, dropped, dead_letters) == (5, 3, 4)
    assert (mailbox, tasks, outgoing) == (len("a mailbox"), 2, 7)


def test_the_heart_beats_at_whole_multiples_of_its_period(monkeypatch):
    """All processes wake together: the processor sleeps in between."""

    async def beats():
        due, loop = [], asyncio.get_running_loop()
        monkeypatch.setattr(loop, "call_at", lambda when, call: due.append((when, call)))
        entry, port = Entry(), Port(sent=[], waiting=0, losses=SimpleNamespace(dropped=0, dead_letters=0))
        heartbeat = _heartbeat(port, entry, 16.0)
        heartbeat.beat()
        assert due[0][1] == heartbeat.beat
        return entry.beats[0], due[0][0]

    now, then = asyncio.run(beats())
    assert 0 < then - now <= 16.0
    assert then % 16.0 == 0.0


def test_a_process_without_free_descriptors_ends_itself(monkeypatch):
    error = OSError(errno.EMFILE, "fewer than 8 file descriptors have been free")
    monkeypatch.setattr(Descriptors, "exhausted", lambda self, now: error)

    async def beat():
        port = Port(sent=[], waiting=0, losses=SimpleNamespace(dropped=0, dead_letters=0))
        _heartbeat(port).beat()

    with pytest.raises(OSError, match="fewer than 8") as raised:
        asyncio.run(beat())
    assert raised.value is error
