"""The fork server's control socket, for the command line and the tests."""

from __future__ import annotations

import logging
from collections.abc import Callable

from ..names import Names, PeerRefused, check_peer
from ..protocol import FORK_SERVER
from ..wire import Frame
from .connection import Connection
from .loop import Loop

log = logging.getLogger(FORK_SERVER)
_RETRY_SECONDS = 0.5


class Listener:
    """Accepts connections of its own user and forwards their frames."""

    def __init__(self, loop: Loop, names: Names, received: Callable[[Connection, Frame], None]) -> None:
        """Raises OSError."""
        self._loop, self._received = loop, received
        self._connections: set[Connection] = set()
        self._socket = names.listen(FORK_SERVER, 0)
        names.publish(FORK_SERVER, 0)
        self._watch()

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
            log.warning("no connection accepted: %s", error)
            self._loop.forget(self._socket.fileno())
            self._loop.call_later(_RETRY_SECONDS, self._watch)
            return
        try:
            check_peer(sock)
        except (PeerRefused, OSError) as error:
            log.warning("connection refused: %s", error)
            sock.close()
            return
        self._connections.add(Connection(self._loop, sock, self._received, self._connections.discard))
