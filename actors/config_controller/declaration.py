"""The declaration of the config controller."""

from __future__ import annotations

from typing import Final

from actors.api_clients.kube_client.messages import KUBE_CLIENT
from actors.shared.declaration import Declaration

from .messages import CONFIG_CONTROLLER

DECLARATION: Final = Declaration(
    name=CONFIG_CONTROLLER,
    actor="actors.config_controller.actor:ConfigController",
    fed_by_joined=(KUBE_CLIENT,),
    prepare=("actors.config_controller.session:prepare",),
    arguments=lambda relations: {
        "consumers": relations.consumers,
        "optional": relations.optional,
        "declared_policies": relations.policies,
    },
)
