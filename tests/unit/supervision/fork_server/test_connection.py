"""Frames between the fork server and a process."""

from __future__ import annotations

import socket

import pytest

from supervision.fork_server.connection import ProcessConnection
from supervision.fork_server.loop import Loop
from supervision.messaging.wire import Frame, FrameReader, FrameWriter, encode
from supervision.process_messages import DiedOnInput
from supervision.protocol import Done

pytestmark = pytest.mark.slow


def test_a_connection_does_not_block_on_a_slow_reader_and_sends_the_rest_later() -> None:
    loop = Loop()
    ours, peer = socket.socketpair()
    connection = ProcessConnection(loop, ours, lambda *_: None, lambda _: None)
    for _ in range(100):
        connection.send(Done("x" * 3_000_000))
    assert 0 < connection.dropped < 100
    reader = FrameReader()
    found: list[Frame] = []

    def read() -> None:
        found.extend(item for item in reader.feed(peer.recv(1 << 20)) if isinstance(item, Frame))
        if len(found) == 100 - connection.dropped:
            loop.stop()

    loop.watch(peer.fileno(), read)
    loop.call_later(30, loop.stop)
    loop.run()
    assert len(found) == 100 - connection.dropped
    peer.close()
    connection.close()


def test_a_connection_is_closed_on_data_in_another_format() -> None:
    loop, closed = Loop(), []
    ours, peer = socket.socketpair()

    def on_closed(_: ProcessConnection) -> None:
        closed.append(True)
        loop.stop()

    ProcessConnection(loop, ours, lambda *_: None, on_closed)
    peer.sendall(b"\x00\x00\x00\x01\xc1")
    loop.call_later(5, loop.stop)
    loop.run()
    assert closed == [True]
    peer.close()


def sent(count: int) -> bytes:
    """So many messages as bytes."""
    writer = FrameWriter()
    for number in range(count):
        writer.add(encode("a", DiedOnInput(str(number))))
    return writer.take()


class Received:
    """A connection whose other end is a plain socket."""

    def __init__(self) -> None:
        self.loop, self.names, self.closed = Loop(), list[str](), 0
        ours, self.peer = socket.socketpair()
        self.connection = ProcessConnection(self.loop, ours, self._received, self._closed)

    def _received(self, connection: ProcessConnection, frame: Frame) -> None:
        message = frame.message()
        assert isinstance(message, DiedOnInput)
        self.names.append(message.name)
        connection.send(Done())

    def _closed(self, connection: ProcessConnection) -> None:
        self.closed += 1
        self.loop.stop()


def test_what_a_process_sent_before_its_end_is_handled_when_it_is_reaped() -> None:
    received = Received()
    received.peer.sendall(sent(3))
    received.peer.close()
    received.connection.drain()
    assert (received.names, received.closed) == (["0", "1", "2"], 1)


def test_what_a_process_sent_before_its_end_is_handled_though_it_cannot_be_answered() -> None:
    received = Received()
    received.peer.sendall(sent(3))
    received.peer.close()
    received.connection.send(Done())
    received.loop.call_later(30, received.loop.stop)
    received.loop.run()
    assert (received.names, received.closed) == (["0", "1", "2"], 1)


@pytest.mark.parametrize("messages", [0, 2])
def test_a_connection_that_another_process_still_has_is_closed_all_the_same(messages: int) -> None:
    received = Received()
    received.peer.sendall(sent(messages))
    received.connection.drain()
    assert (len(received.names), received.closed) == (messages, 1)
    received.peer.close()
