"""The CRI settings of pods' user namespaces (KEP-127). Pure.

The runtime shifts the IDs of the files in each mount (idmapped mounts): the agent changes no file owners.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from actors.pod_workers.errors import ConfigError
from actors.shared.cri.model import RuntimeHandler
from actors.shared.linux.subordinate_ids import IdRange
from proto import cri_pb2 as cri

_REFUSED: Final = "can't set `spec.hostUsers: false`, "


def user_namespace(ids: IdRange | None) -> cri.UserNamespace:
    """`ids`: None is the node's namespace."""
    if ids is None:
        return cri.UserNamespace(mode=cri.NODE)
    mapping = [cri.IDMapping(host_id=ids.first, container_id=0, length=ids.length)]
    return cri.UserNamespace(mode=cri.POD, uids=mapping, gids=mapping)


def use_in_container(config: cri.ContainerConfig, ids: IdRange | None) -> None:
    """Give the container and all its mounts the pod's IDs."""
    namespace = user_namespace(ids)
    config.linux.security_context.namespace_options.userns_options.CopyFrom(namespace)
    for mount in config.mounts:
        mount.uidMappings.extend(namespace.uids)
        mount.gidMappings.extend(namespace.gids)


def refuse_unsupported(handlers: Mapping[str, RuntimeHandler], name: str) -> None:
    """`name`: the handler of the pod's RuntimeClass, '' for the default one. Raises ConfigError."""
    handler = handlers.get(name)
    if handler is None or not handler.user_namespaces:
        if name:
            raise ConfigError(f'{_REFUSED}RuntimeClass handler "{name}" does not support user namespaces')
        raise ConfigError(f"{_REFUSED}runtime does not support user namespaces")
