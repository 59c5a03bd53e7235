"""The facts about the node in statuses. Its addresses are the configured ones until the Node object has some."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from typing import Final

import msgspec

from actors.api_clients.kube_client.messages import KUBE_CLIENT, GetObject, ObjectRef, ObjectState
from actors.shared.config.agent import Agent
from actors.shared.config.endpoints import socket_of
from actors.shared.kube.node_addresses import has_specified, host_ips, host_ips_without_node
from actors.shared.linux.host_addresses import source_address
from supervision.actor import Actor, AskError, DisposableError

from .status.pod_status_input import PodStatusNode

NODE_SECONDS: Final = 1.0
"""Seconds between reads of the Node object until it has addresses."""
REREAD_SECONDS: Final = 10.0
NAME_SECONDS: Final = 3.0
_NAME: Final = "actors.shared.cri.liveness:name"
_USUAL_NAMES: Final = {"containerd.sock": "containerd", "crio.sock": "cri-o", "cri-dockerd.sock": "docker"}
"""The runtimes of these sockets are not asked for their name."""
NODE_IP_READS: Final = 30
"""The number of reads without the address of --node-ip after which the Node object's addresses are used."""


class NodeFacts:
    """`current`: the facts as they are known now."""

    def __init__(self, actor: Actor, agent: Agent, changed: Callable[[], None]) -> None:
        """`changed` is called when the addresses have changed."""
        self._actor, self._agent, self._changed, self._reads = actor, agent, changed, 0
        self.current = PodStatusNode(
            host_ips_without_node(agent.node_ip, source_address) or ["127.0.0.1"],
            _USUAL_NAMES.get(os.path.basename(agent.runtime_endpoint), "containerd"),
            agent.node_ip,
            stop_signals=agent.gate("ContainerStopSignals"),
            pod_resources=agent.gate("InPlacePodLevelResourcesVerticalScaling"),
            ready_to_start=agent.gate("PodReadyToStartContainersCondition"),
        )

    def start(self) -> None:
        """Read the Node object from now on; a standalone agent has none. Ask a runtime for its name."""
        if not self._agent.standalone:
            self._actor.after(0.0, self._read)
        endpoint = self._agent.runtime_endpoint
        if endpoint and os.path.basename(endpoint) not in _USUAL_NAMES:
            self._actor.after(0.0, self._ask_name)

    async def _ask_name(self) -> None:
        name, path = "", socket_of(self._agent.runtime_endpoint)
        with suppress(DisposableError):
            name = await self._actor.disposable(_NAME, {"path": path}, deadline=NAME_SECONDS)
        if not name:
            self._actor.after(REREAD_SECONDS, self._ask_name)
        elif name != self.current.runtime_name:
            self.current = msgspec.structs.replace(self.current, runtime_name=name)
            self._changed()

    async def _read(self) -> None:
        question = GetObject(ObjectRef("Node", self._agent.node_name), wait=NODE_SECONDS)
        try:
            state = await self._actor.ask(KUBE_CLIENT, question, timeout=2 * NODE_SECONDS)
        except AskError:
            state = ObjectState(question.ref)
        ips = host_ips(state.body)
        self._reads += 1
        if self._reads < NODE_IP_READS and not has_specified(ips, self._agent.node_ip):
            ips = []  # addresses from before a restart with another --node-ip: the Node is written soon
        self._actor.after(REREAD_SECONDS if ips else NODE_SECONDS, self._read)
        if ips and ips != self.current.ips:
            self.current = msgspec.structs.replace(self.current, ips=ips)
            self._changed()
