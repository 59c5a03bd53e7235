"""The declaration of the device manager."""

from __future__ import annotations

from typing import Final

from actors.shared.declaration import Declaration

from .messages import DEVICE_MANAGER

DECLARATION: Final = Declaration(
    name=DEVICE_MANAGER,
    actor="actors.device_manager.actor:DeviceManager",
    pod_inventory=True,
    keeps_sockets=True,
)
