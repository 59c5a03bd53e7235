"""TCP ports of this host that stay the test's own, whatever its neighbours ask the kernel for."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator

_HELD: list[socket.socket] = []


def held_port(address: str = "127.0.0.1", port: int = 0) -> socket.socket:
    """A socket that keeps a port (0: a free one) until it is closed. It never listens: a server that reuses addresses,
    as ours all do, may do so there, again and again, and until it does connections are refused."""
    sock = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.bind((address, port))
    return sock


def free_port() -> int:
    """One that is held until the file of tests that takes it is done."""
    _HELD.append(held_port())
    return int(_HELD[-1].getsockname()[1])


@contextlib.contextmanager
def ports_given_back() -> Iterator[None]:
    """What is taken in between is free afterwards."""
    before = len(_HELD)
    yield
    for sock in _HELD[before:]:
        sock.close()
    del _HELD[before:]
