"""The declaration of the status manager."""

from __future__ import annotations

from typing import Final

from actors.api_clients.kube_client.messages import KUBE_CLIENT
from actors.device_manager.messages import DEVICE_MANAGER
from actors.prober.messages import PROBER
from actors.shared.declaration import POD_HOLDER, Declaration

from .messages import STATUS_MANAGER

DECLARATION: Final = Declaration(
    name=STATUS_MANAGER,
    actor="actors.status_manager.actor:StatusManager",
    fed_by=(PROBER, DEVICE_MANAGER),
    fed_by_joined=(KUBE_CLIENT,),
    pod_inventory=True,
    policy=POD_HOLDER,
)
