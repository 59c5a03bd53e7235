"""What the shutdown manager tells."""

from __future__ import annotations

from typing import ClassVar, Final

from supervision.addresses import ActorName
from supervision.message import Message

SHUTDOWN_MANAGER: Final = ActorName("shutdown_manager")


class NodeShutdown(Message, frozen=True):
    """To container_manager, on change and on Hello: who may not come because the node is shut down."""

    active: bool
    """It is being shut down now: nobody may come."""
    ended: list[str] = []
    """UIDs of pods of the API server that a shutdown has ended, and whose last status it does not have yet: they do not
    begin anew, and their workers are told to end them once more."""
    coalesce: ClassVar[tuple[str, ...]] = ()
