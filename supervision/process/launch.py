"""What the fork server gives to an actor's process, and the actor that is made of it."""

from __future__ import annotations

import inspect
import socket
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ..addresses import ActorName
from ..class_names import load
from ..messaging.names import Names
from .blackbox import BlackBox
from .heartbeat import HEARTBEAT_SECONDS
from .incarnation import Incarnation
from .status_page import StatusEntry


@dataclass(frozen=True, kw_only=True)
class Launch:
    """The fork server's parameters for an actor's process."""

    name: str
    process: Incarnation
    actor: str
    """`module:Class`."""
    arguments: dict[str, Any] = field(default_factory=dict)
    context: Any
    names: Names
    status_entry: StatusEntry
    blackbox: BlackBox
    uplink: socket.socket
    refresh: str = ""
    """`module:function` that updates `context`."""
    feeders: tuple[ActorName, ...] = ()
    """The actors that get a Hello once this one is in service, and after an injected loss of messages."""
    heartbeat_seconds: float = HEARTBEAT_SECONDS
    dynamic: bool = False
    """Dead letters go to the actor that called Thespian's handleDeadLetters (`system_base.py`)."""
    release_memory: Callable[[], None] = lambda: None
    """Called after the start, and then periodically: releases memory that only the start needed."""

    @property
    def incarnation(self) -> int:
        return self.process.number


def make_actor(launch: Launch) -> Any:
    """The actor. In a program's own system base, `__init__` also gets `capabilities` and `requirements` if it
    names them, as from Thespian's bases."""
    kind, arguments = load(launch.actor), launch.arguments
    if launch.dynamic:
        offered: dict[str, Any] = {"capabilities": {}, "requirements": {}}
        names = inspect.signature(kind.__init__).parameters
        arguments = {**{name: value for name, value in offered.items() if name in names}, **arguments}
    return kind(**arguments)
