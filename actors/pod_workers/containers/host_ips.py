"""The addresses of this node for status.hostIPs of pods."""

from __future__ import annotations

from actors.api_clients.kube_client.messages import ObjectRef
from actors.shared.config.agent import Agent
from actors.shared.kube.container import Container
from actors.shared.kube.node_addresses import host_ips as host_ips_of_node
from actors.shared.kube.node_addresses import host_ips_without_node
from actors.shared.kube.pod import Pod
from actors.shared.linux.host_addresses import source_address
from supervision.actor import Actor

from .api_objects import state_of

_OWN = {"status.hostIP", "status.hostIPs"}
_OF_POD = {"status.podIP", "status.podIPs"}


def wanted(pod: Pod, container: Container) -> bool:
    """Whether the container's environment refers to them. Pure."""
    paths = {one.valueFrom.fieldRef.fieldPath for one in container.env if one.valueFrom and one.valueFrom.fieldRef}
    return bool(paths & _OWN or (pod.spec.hostNetwork and paths & _OF_POD))


async def host_ips(actor: Actor, agent: Agent, pod: Pod, container: Container) -> list[str]:
    """hostIPs of the pod, if the container's environment refers to them."""
    return await node_ips(actor, agent) if wanted(pod, container) else []


async def node_ips(actor: Actor, agent: Agent) -> list[str]:
    """The addresses of the Node object; else those of the configuration, or of the default route."""
    if not agent.standalone:
        state = await state_of(actor, ObjectRef("Node", agent.node_name))
        found = host_ips_of_node(state.body)
        if found:
            return found
    return host_ips_without_node(agent.node_ip, source_address)
