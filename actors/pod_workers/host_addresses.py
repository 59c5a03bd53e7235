"""The addresses of this node, as pods see them in status.hostIPs."""

from __future__ import annotations

import ipaddress
import socket

import msgspec

from actors.api_clients.messages import ObjectRef
from actors.config.agent import Agent
from actors.kube.container import Container
from actors.kube.pod import Pod
from supervision.actor import Actor

from .objects import state_of

_FAR = ((socket.AF_INET, "192.0.2.1"), (socket.AF_INET6, "2001:db8::1"))


_OWN = {"status.hostIP", "status.hostIPs"}
_OF_POD = {"status.podIP", "status.podIPs"}


class _Address(msgspec.Struct, frozen=True):
    type: str = ""
    address: str = ""


class _Status(msgspec.Struct, frozen=True):
    addresses: list[_Address] = []


class _Node(msgspec.Struct, frozen=True):
    status: _Status = _Status()


def wanted(pod: Pod, container: Container) -> bool:
    """Whether the container's environment tells of them. Pure."""
    paths = {one.valueFrom.fieldRef.fieldPath for one in container.env if one.valueFrom and one.valueFrom.fieldRef}
    return bool(paths & _OWN or (pod.spec.hostNetwork and paths & _OF_POD))


async def host_ips(actor: Actor, agent: Agent, pod: Pod, container: Container) -> list[str]:
    """One of each family: --node-ip, else those of the node object, else where default routes leave from. None where
    nobody asks for them."""
    if not wanted(pod, container):
        return []
    given = [ip.strip() for ip in agent.node_ip.split(",") if ip.strip()]
    usable = [ip for ip in given if not ipaddress.ip_address(ip).is_unspecified]
    if usable:
        return one_of_each_family(usable)
    if not agent.standalone:
        state = await state_of(actor, ObjectRef("Node", agent.node_name))
        found = internal_ips(state.body)
        if found:
            return found
    routed = [ip for family, far in _FAR if (ip := _source(family, far))]
    return one_of_each_family(routed[::-1] if given == ["::"] else routed)


def internal_ips(node: bytes) -> list[str]:
    """Of a node object; [] for one that cannot be read. Pure."""
    try:
        addresses = msgspec.json.decode(node, type=_Node).status.addresses
    except (msgspec.DecodeError, msgspec.ValidationError):
        return []
    return one_of_each_family([one.address for one in addresses if one.type == "InternalIP"])


def one_of_each_family(ips: list[str]) -> list[str]:
    """The first of each, in order. Pure."""
    found: dict[bool, str] = {}
    for ip in ips:
        found.setdefault(":" in ip, ip)
    return list(found.values())


def _source(family: socket.AddressFamily, far: str) -> str:
    # a UDP connect sends nothing; it only makes the kernel choose a source address (documentation prefixes)
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as sock:
            sock.connect((far, 9))
            return str(sock.getsockname()[0])
    except OSError:
        return ""
