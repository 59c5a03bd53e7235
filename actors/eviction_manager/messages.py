"""Messages of the eviction manager."""

from __future__ import annotations

from typing import Final

from supervision.addresses import ActorName

EVICTION_MANAGER: Final = ActorName("eviction_manager")
