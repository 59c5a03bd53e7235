"""Listens on a TCP port, and retries while it cannot. `supervise status` shows the port meanwhile."""

from __future__ import annotations

import socket
import time
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final

from supervision.actor import Actor
from supervision.errors import error_reason
from supervision.process_messages import ServiceState
from supervision.protocol import FORK_SERVER

from .listening_sockets import listening

RETRY_SECONDS: Final = 5.0
"""Seconds between attempts, as in the kubelet. The rest of the agent does not wait for the port."""
_PREFIX: Final = "port "
Serve = Callable[[list[socket.socket]], Awaitable[None]]


async def serve_port(actor: Actor, address: str, port: int, backlog: int, serve: Serve) -> None:
    """Call `serve` with the listening sockets, at once or when the port is free. `address`: as configured."""
    try:
        sockets = actor.listen(f"tcp:{address}:{port}", partial(listening, address, port, backlog))
    except OSError as error:
        actor.log.error("cannot listen on %s:%d, next attempt in %.0f s: %s", address, port, RETRY_SECONDS, error)
        actor.tell(FORK_SERVER, refused(address, port, error))
        actor.after(RETRY_SECONDS, lambda: serve_port(actor, address, port, backlog, serve))
        return
    actor.tell(FORK_SERVER, ServiceState(_name(port)))  # ends what an earlier incarnation may have reported
    await serve(sockets)


def refused(address: str, port: int, error: OSError) -> ServiceState:
    """The state of a port that cannot be listened on."""
    where = f"{address or '*'}:{port}"
    remedy = f"ss -ltnp 'sport = :{port}': end who listens, or set another port"
    return ServiceState(_name(port), f"cannot listen on {where}: {error_reason(error)}", time.monotonic(), remedy)


def is_port(service: str) -> bool:
    """Whether the trouble of this service is that of a port."""
    return service.startswith(_PREFIX)


def _name(port: int) -> str:
    return f"{_PREFIX}{port}"
