"""Messages to the device manager, and its answers."""

from __future__ import annotations

from typing import Final

from supervision.addresses import ActorName

DEVICE_MANAGER: Final = ActorName("device_manager")
