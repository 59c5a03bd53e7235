"""Listens on a TCP port, and retries while it cannot. `supervise status` shows the port meanwhile."""

from __future__ import annotations

import socket
import time
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final, NamedTuple

from supervision.actor import Actor
from supervision.errors import error_reason
from supervision.process_messages import ServiceState
from supervision.protocol import FORK_SERVER

from .listening_sockets import listening

RETRY_SECONDS: Final = 5.0
"""Seconds between attempts, as in the kubelet. The rest of the agent does not wait for the port."""
FIELDS: Final = ("port", "readOnlyPort", "healthzPort")
Serve = Callable[[list[socket.socket]], Awaitable[None]]


class ConfiguredPort(NamedTuple):
    """A TCP port to listen on, as configured."""

    field: str
    """Its field of the configuration, one of FIELDS."""
    address: str
    port: int
    """0: none."""


async def serve_port(actor: Actor, where: ConfiguredPort, backlog: int, serve: Serve) -> None:
    """Call `serve` with the listening sockets, at once or when the port is free; never if there is none."""
    field, address, port = where
    sockets: list[socket.socket] = []
    try:
        if port:
            sockets = actor.listen(f"tcp:{address}:{port}", partial(listening, address, port, backlog))
    except OSError as error:
        actor.log.error("cannot listen on %s:%d, next attempt in %.0f s: %s", address, port, RETRY_SECONDS, error)
        actor.tell(FORK_SERVER, refused(where, error))
        actor.after(RETRY_SECONDS, lambda: serve_port(actor, where, backlog, serve))
        return
    # ends what an earlier incarnation may have reported, also of another port
    actor.tell(FORK_SERVER, ServiceState(field))
    if port:
        await serve(sockets)


def refused(where: ConfiguredPort, error: OSError) -> ServiceState:
    """The state of a port that cannot be listened on."""
    field, address, port = where
    text = f"cannot listen on {address or '*'}:{port}: {error_reason(error)}"
    return ServiceState(field, text, time.monotonic(), f"ss -ltnp 'sport = :{port}': end who listens, or set {field}")


def is_port(service: str) -> bool:
    """Whether the trouble of this service is that of a port."""
    return service in FIELDS
