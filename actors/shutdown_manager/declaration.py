"""The declaration of the shutdown manager."""

from __future__ import annotations

from typing import Final

from actors.shared.config.fields.shutdown_windows import windows
from actors.shared.declaration import Declaration

from .messages import SHUTDOWN_MANAGER

DECLARATION: Final = Declaration(
    name=SHUTDOWN_MANAGER,
    actor="actors.shutdown_manager.actor:ShutdownManager",
    exists=lambda agent: windows(agent.config),
)
