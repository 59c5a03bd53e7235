"""What the configuration is made of: the file or a ConfigMap, the drop-ins, and the flags of the command line."""

from __future__ import annotations

import os

from actors.config.agent import Agent
from actors.config.checkpoints import REQUESTS
from actors.config.documents import Document, read
from actors.config.effective import effective
from actors.config.kubelet_configuration import KubeletConfiguration
from actors.config.layers import check_header, read_layers, resolve_paths
from actors.config.surroundings import look_around

from .messages import ConfigMapAssigned
from .watching import directories_of


class Sources:
    """Reads and judges. Every method that reads raises ConfigErrors."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent
        self.remote: ConfigMapAssigned | None = None

    def read(self) -> list[Document]:
        """The layers as they are now."""
        agent, remote = self._agent, self.remote
        if remote is None:
            return read_layers(agent.config_file, agent.config_dir)
        document = read(remote.data, f"configmap {remote.namespace}/{remote.name}")
        check_header(document)
        resolve_paths(document.data, os.path.dirname(agent.config_file) or "/")
        return [document, *read_layers("", agent.config_dir)]

    def judge(self, documents: list[Document]) -> KubeletConfiguration:
        """The configuration that the layers and the flags make."""
        return effective(documents, self._agent.field_flags, look_around().situation).config

    def directories(self) -> list[str]:
        """Where a change of the sources, or a request, shows."""
        agent = self._agent
        files = [agent.config_file, agent.policy_file]
        return directories_of(files, [agent.config_dir, f"{agent.config_checkpoint_dir}/{REQUESTS}"])

    def described(self) -> dict[str, str]:
        """The ConfigMap, as the checkpoint records it; empty for local files."""
        remote = self.remote
        if remote is None:
            return {}
        return {
            "namespace": remote.namespace,
            "name": remote.name,
            "uid": remote.uid,
            "resourceVersion": remote.resource_version,
            "key": remote.key,
        }
