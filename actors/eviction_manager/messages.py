"""Messages of the eviction manager."""

from __future__ import annotations

from typing import Final

from supervision.addresses import ActorName
from supervision.message import Message

EVICTION_MANAGER: Final = ActorName("eviction_manager")


class PreemptPods(Message, frozen=True):
    """From container_manager, repeated: end these pods to make room for a critical pod."""

    uids: list[str]
    resource: str
    """The resource that the critical pod lacks; label of the metric."""
