"""What `supervise status` is told of a port. Pure but for the clock."""

from __future__ import annotations

import time

from supervision.protocol import ServiceState


def refusal(address: str, port: int, error: OSError) -> ServiceState:
    """The port cannot be listened on, since now or longer."""
    where = f"{address or '*'}:{port}"
    return ServiceState(_name(port), f"cannot listen on {where}: {error.strerror or error}", time.monotonic())


def taken(port: int) -> ServiceState:
    """It is listened on: what was told before, be it by an earlier incarnation, is over."""
    return ServiceState(_name(port))


def _name(port: int) -> str:
    return f"port {port}"
