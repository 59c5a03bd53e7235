"""Which process of its name an actor's process is."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..listeners import Listeners
from ..process_messages import BY_ITSELF, LastEnd


@dataclass(frozen=True)
class Incarnation:
    """`number`: from 1 on."""

    number: int
    last_end: LastEnd = BY_ITSELF
    """How the last incarnation ended."""
    listeners: Listeners = field(default_factory=Listeners)
    """The listening sockets, with those that the last incarnation has left."""
