"""Frames on a socket of the fork server: an actor's uplink, or a command line. It never blocks, and its queues are
bounded."""

from __future__ import annotations

import socket
from collections.abc import Callable

from ..message import Message
from ..messaging.wire import Frame, FrameReader, FrameWriter, WireError, encode
from ..protocol import FORK_SERVER
from .loop import Loop

_MOST_WAITING = 128 * 1024 * 1024
_READ_BYTES = 256 * 1024


class ProcessConnection:
    """The fork server's end."""

    def __init__(
        self,
        loop: Loop,
        sock: socket.socket,
        received: Callable[[ProcessConnection, Frame], None],
        closed: Callable[[ProcessConnection], None],
        on_partial: Callable[[], None] = lambda: None,
    ) -> None:
        """`on_partial`: called while a large message is incomplete. It may raise WireError, which closes the
        connection."""
        self._loop, self._sock, self._received, self._closed = loop, sock, received, closed
        self._on_partial = on_partial
        self._reader, self._writer = FrameReader(), FrameWriter()
        self._unsent = b""
        self.is_open = self._peer_reads = True
        self.dropped = 0
        """Messages dropped because the other end does not read."""
        sock.setblocking(False)
        loop.watch(sock.fileno(), self._read)

    def fileno(self) -> int:
        return self._sock.fileno()

    @property
    def incomplete_bytes(self) -> int:
        """The bytes received of an incomplete large message."""
        return self._reader.incomplete_bytes

    def send(self, message: Message, answer: int = 0) -> None:
        """Send, or drop the message if the other end does not read."""
        if not (self.is_open and self._peer_reads):
            return
        if self._writer.waiting_bytes + len(self._unsent) > _MOST_WAITING:
            self.dropped += 1
            return
        self._writer.add(encode(FORK_SERVER, message, answer=answer))
        self._write()

    def close(self) -> None:
        if self.is_open:
            self.is_open = False
            self._loop.forget(self._sock.fileno())
            self._sock.close()
            self._closed(self)

    def _write(self) -> None:
        try:
            while self._unsent or self._writer:
                data = self._unsent or self._writer.take()
                self._unsent = data
                self._unsent = data[self._sock.send(data) :]
        except BlockingIOError:
            pass
        except OSError:
            self._stop_writing()  # the other end is gone, but what it sent before is still to be read
        if self.is_open:
            self._loop.watch(self._sock.fileno(), self._read, self._write if self._unsent else None)

    def _stop_writing(self) -> None:
        self._peer_reads, self._writer, self._unsent = False, FrameWriter(), b""

    def drain(self) -> None:
        """The process at the other end has ended: handle what it sent before that, then close."""
        self._stop_writing()
        while self.is_open and self._read():
            pass
        self.close()

    def _read(self) -> bool:
        """Handle what has arrived. Returns whether there may be more."""
        try:
            data = self._sock.recv(_READ_BYTES)
        except BlockingIOError:
            return False
        except OSError:
            data = b""
        if not data:
            self.close()
            return False
        try:
            for item in self._reader.feed(data):
                if not isinstance(item, Frame):
                    raise WireError("the fork server sends nothing that is acknowledged")
                if self.is_open:
                    self._received(self, item)
            if self._reader.incomplete_bytes:
                self._on_partial()
        except WireError:
            self.close()
        return True
