"""The addresses of this node, as pods see them in status.hostIPs."""

from __future__ import annotations

import ipaddress
import socket

from actors.api_clients.messages import ObjectRef
from actors.shared.config.agent import Agent
from actors.shared.kube import node_addresses
from actors.shared.kube.container import Container
from actors.shared.kube.node_addresses import one_of_each_family
from actors.shared.kube.pod import Pod
from supervision.actor import Actor

from .api_objects import state_of

_FAR = ((socket.AF_INET, "192.0.2.1"), (socket.AF_INET6, "2001:db8::1"))


_OWN = {"status.hostIP", "status.hostIPs"}
_OF_POD = {"status.podIP", "status.podIPs"}


def wanted(pod: Pod, container: Container) -> bool:
    """Whether the container's environment tells of them. Pure."""
    paths = {one.valueFrom.fieldRef.fieldPath for one in container.env if one.valueFrom and one.valueFrom.fieldRef}
    return bool(paths & _OWN or (pod.spec.hostNetwork and paths & _OF_POD))


async def host_ips(actor: Actor, agent: Agent, pod: Pod, container: Container) -> list[str]:
    """Those of the node object, else --node-ip (one of each family), else where the default route leaves from. None
    where nobody asks for them."""
    if not wanted(pod, container):
        return []
    if not agent.standalone:
        state = await state_of(actor, ObjectRef("Node", agent.node_name))
        found = node_addresses.host_ips(state.body)
        if found:
            return found
    given = [ip.strip() for ip in agent.node_ip.split(",") if ip.strip()]
    usable = [ip for ip in given if not ipaddress.ip_address(ip).is_unspecified]
    if usable:
        return one_of_each_family(usable)
    routed = [ip for family, far in _FAR if (ip := _source(family, far))]
    return (routed[::-1] if given == ["::"] else routed)[:1]


def _source(family: socket.AddressFamily, far: str) -> str:
    # a UDP connect sends nothing; it only makes the kernel choose a source address (documentation prefixes)
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as sock:
            sock.connect((far, 9))
            return str(sock.getsockname()[0])
    except OSError:
        return ""
