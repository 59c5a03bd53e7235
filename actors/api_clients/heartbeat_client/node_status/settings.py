"""The settings of the node in the configuration, as the status needs them."""

from __future__ import annotations

from actors.shared.config.agent import Agent
from actors.shared.config.version import git_version
from actors.shared.kube.declared_features import declared_features
from actors.shared.kube.node_addresses import specified_ips

from .facts import NodeSettings


def settings_of(agent: Agent) -> NodeSettings:
    return NodeSettings(
        name=agent.node_name,
        kubelet_version=git_version(),
        kubelet_port=agent.config.port,
        node_ips=specified_ips(agent.node_ip),
        node_ip_given=bool(agent.node_ip),
        external_cloud=agent.external_cloud,
        max_images=agent.config.nodeStatusMaxImages,
        ephemeral_storage=agent.config.localStorageCapacityIsolation,
        declared_features=declared_features(agent.gate),
    )
