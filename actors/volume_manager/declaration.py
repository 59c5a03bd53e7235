"""The declaration of the volume manager."""

from __future__ import annotations

from typing import Final

from actors.shared.declaration import Declaration

from .messages import VOLUME_MANAGER

DECLARATION: Final = Declaration(
    name=VOLUME_MANAGER,
    actor="actors.volume_manager.actor:VolumeManager",
    reads=("volumeStatsAggPeriod", "volumePluginDir", "enableControllerAttachDetach"),
    pod_inventory=True,
)
