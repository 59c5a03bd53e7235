"""The fork server's side of listening sockets that survive their actor (listeners.py)."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterable

from .loop import Loop

_MOST_LABEL_BYTES = 256
_MOST_SOCKETS = 16
"""The limit of sockets in one message, and of labels of one actor."""


class SocketStore:
    """Sockets by actor and label. Only the fork server and the actor's next incarnation have the descriptors."""

    def __init__(self, loop: Loop) -> None:
        self._loop = loop
        self._sockets: dict[str, dict[str, list[int]]] = {}
        self._channels: dict[str, socket.socket] = {}

    def open(self, name: str) -> socket.socket:
        """The actor's end of a new channel. Raises OSError."""
        self._close_channel(name)
        server_end, actor_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        server_end.setblocking(False)
        actor_end.setblocking(False)
        self._channels[name] = server_end
        self._loop.watch(server_end.fileno(), lambda: self._receive(name, server_end))
        return actor_end

    def of(self, name: str) -> dict[str, list[int]]:
        """The sockets that the actor's next incarnation inherits."""
        return {label: list(fds) for label, fds in self._sockets.get(name, {}).items()}

    def fds(self) -> list[int]:
        """The descriptors that children close, except those that `of` gives to their actor."""
        kept = [fd for labels in self._sockets.values() for fds in labels.values() for fd in fds]
        return [*kept, *(server_end.fileno() for server_end in self._channels.values())]

    def ended(self, name: str, *, keep: bool) -> None:
        """The actor's process has ended. `keep`: its next incarnation inherits the sockets."""
        server_end = self._channels.get(name)
        if server_end is not None:
            while self._receive(name, server_end):  # what the actor sent just before its end may still be unread
                pass
        self._close_channel(name)
        if not keep:
            for fds in self._sockets.pop(name, {}).values():
                _close(fds)

    def _receive(self, name: str, server_end: socket.socket) -> bool:
        """Take one message. Returns whether there was one."""
        try:
            label, fds, flags, _ = socket.recv_fds(server_end, _MOST_LABEL_BYTES, _MOST_SOCKETS)
            for fd in fds:  # recv_fds ignores its flags, MSG_CMSG_CLOEXEC too
                os.set_inheritable(fd, False)
        except BlockingIOError:
            return False
        except OSError:
            label, fds, flags = b"", [], 0
        if not label:
            _close(fds)
            self._close_channel(name)
            return False
        labels = self._sockets.setdefault(name, {})
        _close(labels.pop(label.decode(errors="replace"), []))
        # when no descriptor is free only some arrive; the next incarnation then makes its own sockets
        if fds and not flags & socket.MSG_CTRUNC and len(labels) < _MOST_SOCKETS:
            labels[label.decode(errors="replace")] = list(fds)
        else:
            _close(fds)
        return True

    def _close_channel(self, name: str) -> None:
        server_end = self._channels.pop(name, None)
        if server_end is not None:
            self._loop.forget(server_end.fileno())
            server_end.close()


def _close(fds: Iterable[int]) -> None:
    for fd in fds:
        os.close(fd)
