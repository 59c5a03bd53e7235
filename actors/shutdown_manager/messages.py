"""Messages of the shutdown manager."""

from __future__ import annotations

from typing import ClassVar, Final

from supervision.addresses import ActorName
from supervision.message import Message

SHUTDOWN_MANAGER: Final = ActorName("shutdown_manager")


class NodeShutdown(Message, frozen=True):
    """To container_manager, on change and on Hello: which pods may not run because the node shuts down."""

    active: bool
    """The node is shutting down: no new pod may run."""
    ended: list[str] = []
    """UIDs of pods of the API server that a shutdown has ended, and whose last status the API server does not have yet:
    they are not started, and their workers are ordered again to end them."""
    coalesce: ClassVar[tuple[str, ...]] = ()
