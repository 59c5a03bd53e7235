"""Messages of the eviction manager."""

from __future__ import annotations

from typing import Final

from supervision.addresses import ActorName
from supervision.message import Message

EVICTION_MANAGER: Final = ActorName("eviction_manager")


class PreemptPods(Message, frozen=True):
    """From container_manager, repeated: end these pods, so that a critical one has room."""

    uids: list[str]
    resource: str
    """What it lacks, for the metric."""
