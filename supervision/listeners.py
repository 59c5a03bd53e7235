"""Listening sockets that survive their actor: a client waits for the next incarnation in place of being refused.

An actor whose child spec says `keeps_sockets` hands each socket that it begins to listen on to the fork server, under a
label (`tcp:0.0.0.0:10250`). The fork server keeps it while it replaces the actor after a fault, and the next
incarnation inherits it. After an orderly end (a stop, a rolling restart) it is closed: then the address may be another
one."""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable, Mapping, Sequence

log = logging.getLogger(__name__)
Make = Callable[[], list[socket.socket]]


class Listeners:
    """The actor's side."""

    def __init__(self, kept: Mapping[str, Sequence[int]] | None = None, handover: socket.socket | None = None) -> None:
        """`kept`: descriptors of the last incarnation's sockets by label. `handover`: to the fork server."""
        self._kept, self._handover = dict(kept or {}), handover

    def listen(self, label: str, make: Make) -> list[socket.socket]:
        """The last incarnation's sockets of that label, else those that `make` returns. Raises what `make` raises."""
        kept = self._kept.pop(label, None)
        if kept:
            return [socket.socket(fileno=fd) for fd in kept]
        made = make()
        if self._handover is not None:
            try:
                socket.send_fds(self._handover, [label.encode()], [sock.fileno() for sock in made])
            except OSError as error:
                log.warning("%s is not kept over a restart: %s", label, error)
        return made
