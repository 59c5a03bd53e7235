"""Listening sockets that survive their actor: a client waits for the next incarnation and is not refused.

An actor with `keeps_sockets` in its child spec sends each new listening socket to the fork server, with a label
(`tcp:0.0.0.0:10250`). After a fault the next incarnation inherits it. After an orderly end (a stop, a rolling restart)
the fork server closes it, because the address may change."""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable, Mapping, Sequence

log = logging.getLogger(__name__)
Make = Callable[[], list[socket.socket]]


class Listeners:
    """The actor's side."""

    def __init__(
        self, inherited: Mapping[str, Sequence[int]] | None = None, fd_channel: socket.socket | None = None
    ) -> None:
        """`inherited`: descriptors of the last incarnation's sockets, by label. `fd_channel`: to the fork server."""
        self._inherited, self._fd_channel = dict(inherited or {}), fd_channel

    def listen(self, label: str, make: Make) -> list[socket.socket]:
        """The last incarnation's sockets of that label, else those that `make` returns. Raises what `make` raises."""
        inherited = self._inherited.pop(label, None)
        if inherited:
            return [socket.socket(fileno=fd) for fd in inherited]
        sockets = make()
        if self._fd_channel is not None:
            try:
                socket.send_fds(self._fd_channel, [label.encode()], [sock.fileno() for sock in sockets])
            except OSError as error:
                log.warning("%s is not kept over a restart: %s", label, error)
        return sockets
