"""The declaration of the prober."""

from __future__ import annotations

from typing import Final

from actors.shared.declaration import CRI, Declaration
from actors.status_manager.messages import STATUS_MANAGER

from .messages import PROBER

DECLARATION: Final = Declaration(
    name=PROBER,
    actor="actors.prober.actor:Prober",
    reads=("runtimeRequestTimeout", "syncFrequency", "tracing"),
    fed_by=(STATUS_MANAGER,),
    pod_inventory=True,
    preload=CRI,
)
