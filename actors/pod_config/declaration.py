"""The declaration of the pod configuration."""

from __future__ import annotations

from typing import Final

from actors.api_clients.kube_client.messages import KUBE_CLIENT
from actors.shared.declaration import POD_HOLDER, Declaration

from .messages import POD_CONFIG

DECLARATION: Final = Declaration(
    name=POD_CONFIG,
    actor="actors.pod_config.actor:PodConfig",
    reads=("staticPodPath", "staticPodURL", "staticPodURLHeader", "fileCheckFrequency", "httpCheckFrequency"),
    fed_by_joined=(KUBE_CLIENT,),
    pod_inventory=True,
    policy=POD_HOLDER,
    prepare=("actors.pod_config.manifests.manifest:prepare", "actors.shared.linux.inotify:prepare"),
)
