"""The fork server's control socket, for the command line and the tests."""

from __future__ import annotations

import logging
from collections.abc import Callable

from ..messaging.names import Names, NoSuchActor, PeerRefused, check_peer
from ..messaging.wire import MAX_BYTES, Frame, WireError
from ..protocol import FORK_SERVER
from ..repeated_warnings import FrequentWarnings
from .connection import ProcessConnection
from .loop import Loop

log = logging.getLogger(FORK_SERVER)
_RETRY_SECONDS = 0.5
_MOST_CONNECTIONS = 128
"""A command line has one, for as long as it runs."""


class Listener:
    """Accepts connections of the same user and forwards their frames.

    When there are too many it closes the one that has been silent longest: a new one is always answered."""

    def __init__(self, loop: Loop, names: Names, received: Callable[[ProcessConnection, Frame], None]) -> None:
        """Raises OSError."""
        self._loop, self._names, self._received = loop, names, received
        self._warnings = FrequentWarnings(log)
        self._connections: dict[ProcessConnection, None] = {}  # the one that was silent longest comes first
        self._listen()

    def _listen(self) -> None:
        """Raises OSError, and then changes nothing."""
        sock = self._names.listen(FORK_SERVER, 0)
        try:
            self._names.publish(FORK_SERVER, 0)
        except OSError:
            sock.close()
            self._names.forget(FORK_SERVER, 0)  # a file of the closed socket would look like a name in service
            raise
        self._socket = sock
        self._watch()

    def restore(self) -> None:
        """Make the socket again if it was removed, so that the fork server is found by name. Raises OSError."""
        try:
            missing = self._names.restore(FORK_SERVER, 0)
        except NoSuchActor:
            missing, old = True, self._socket
            self._listen()
            self._loop.forget(old.fileno())
            old.close()
        if missing:
            log.warning("somebody removed the socket of %s from %s: it is made again", FORK_SERVER, self._names.path)

    def fds(self) -> list[int]:
        """The descriptors that every child closes."""
        return [self._socket.fileno(), *(connection.fileno() for connection in self._connections)]

    def _watch(self) -> None:
        self._loop.watch(self._socket.fileno(), self._accept)

    def _accept(self) -> None:
        try:
            sock, _ = self._socket.accept()
        except (BlockingIOError, ConnectionAbortedError):
            return
        except OSError as error:
            # no free descriptor: the waiting connection would wake the loop again and again
            log.warning("cannot accept a connection: %s", error)
            self._loop.forget(self._socket.fileno())
            self._loop.call_later(_RETRY_SECONDS, self._watch)
            return
        try:
            check_peer(sock)
        except (PeerRefused, OSError) as error:
            self._warnings.warn("peer", f"connection refused: {error}")
            sock.close()
            return
        if len(self._connections) >= _MOST_CONNECTIONS:
            text = f"{len(self._connections)} connections are open: the one that was silent longest is closed"
            self._warnings.warn("too many", text)
            next(iter(self._connections)).close()
        self._connections[ProcessConnection(self._loop, sock, self._heard, self._forget, self._on_partial)] = None

    def _heard(self, connection: ProcessConnection, frame: Frame) -> None:
        self._forget(connection)
        self._connections[connection] = None
        self._received(connection, frame)

    def _forget(self, connection: ProcessConnection) -> None:
        self._connections.pop(connection, None)

    def _on_partial(self) -> None:
        """Raises WireError if the incomplete messages of all connections take too much memory: the fork server has no
        ceiling of its own, and is never replaced."""
        size = sum(connection.incomplete_bytes for connection in self._connections)
        if size > MAX_BYTES:
            text = f"connection refused: its incomplete large messages have {size} bytes in all"
            self._warnings.warn("incomplete", text)
            raise WireError(f"{size} bytes of incomplete messages")
