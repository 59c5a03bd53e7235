"""The addresses of this node: for its Node object, and for status.hostIPs of its pods. Pure.

`HostAddresses` gives access to the host; the real one is `actors/shared/linux/host_addresses.py`.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from supervision.errors import UNREADABLE

Json = dict[str, Any]
IP = ipaddress.IPv4Address | ipaddress.IPv6Address


class AddressError(Exception):
    """The node has no usable address; the text has the reason."""


class HostAddresses(msgspec.Struct, frozen=True):
    """The questions to the host."""

    has: Callable[[str], bool]
    """Whether an interface has this address."""
    source: Callable[[int], str]
    """The source address of the default route of this family (4, 6); '' without one."""


# -- addresses of the Node object -------------------------------------------------------------------------------------
def choose(given: str, name: str, looked_up: list[str], host: HostAddresses) -> list[Json]:
    """The NodeAddresses. `given` is --node-ip, `name` the node's name, `looked_up` its DNS addresses.

    Raises AddressError.
    """
    wanted = [ipaddress.ip_address(text) for text in _parts(given)]
    specified = [ip for ip in wanted if not ip.is_unspecified]
    if specified:
        for ip in specified:
            if problem := unusable_reason(ip, host):
                raise AddressError(f"failed to validate nodeIP: {problem}")
        return _objects([str(ip) for ip in specified], name)
    prefer = 6 if wanted and wanted[0].version == 6 else 4
    return _objects([_resolve(name, looked_up, prefer, host)], name)


def unusable_reason(ip: IP, host: HostAddresses) -> str:
    """Why the address is not usable for a node; '' if it is."""
    if ip.is_loopback:
        return "nodeIP can't be loopback address"
    if ip.is_multicast:
        return "nodeIP can't be a multicast address"
    if ip.is_link_local:
        return "nodeIP can't be a link-local unicast address"
    if ip.is_unspecified:
        return "nodeIP can't be an all zeros address"
    return "" if host.has(str(ip)) else f'node IP: "{ip}" not found in the host\'s network interfaces'


def specified_ips(given: str) -> tuple[str, ...]:
    """The addresses of --node-ip, without 0.0.0.0 and ::, which only select a family."""
    return tuple(text for text in _parts(given) if not ipaddress.ip_address(text).is_unspecified)


def hostname_address(name: str) -> Json:
    return {"type": "Hostname", "address": name}


def _parts(given: str) -> list[str]:
    return [part.strip() for part in given.split(",") if part.strip()]


def _resolve(name: str, looked_up: list[str], prefer: int, host: HostAddresses) -> str:
    """The name itself if it is an address, else its DNS address, else the source address of the default route."""
    named = _address(name)
    if named is not None:
        return str(named)
    usable = [ip for text in looked_up if (ip := _address(text)) is not None and not unusable_reason(ip, host)]
    usable.sort(key=lambda ip: ip.version != prefer)
    if usable:
        return str(usable[0])
    routed = host.source(prefer) or host.source(10 - prefer)
    if not routed:
        raise AddressError(f"can't get ip address of node {name}. error: no default routes found")
    return routed


def _address(text: str) -> IP | None:
    try:
        return ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return None


def _objects(ips: list[str], name: str) -> list[Json]:
    return [*({"type": "InternalIP", "address": ip} for ip in ips), hostname_address(name)]


# -- addresses that pods see ------------------------------------------------------------------------------------------
class _Address(msgspec.Struct, frozen=True):
    type: str = ""
    address: str = ""


class _Status(msgspec.Struct, frozen=True):
    addresses: list[_Address] = []


class _Node(msgspec.Struct, frozen=True):
    status: _Status = _Status()


def host_ips(node: bytes) -> list[str]:
    """hostIPs from a Node object: internal addresses before external ones, one per family; [] if unreadable."""
    try:
        addresses = msgspec.json.decode(node, type=_Node).status.addresses
    except UNREADABLE:
        return []
    return one_of_each_family(
        one.address for kind in ("InternalIP", "ExternalIP") for one in addresses if one.type == kind
    )


def has_specified(ips: list[str], given: str) -> bool:
    """Whether the Node object has the addresses of --node-ip (`given`). After a restart with other addresses it does
    not have them yet."""
    return {_address(text) for text in specified_ips(given)} <= {_address(ip) for ip in ips}


def host_ips_without_node(given: str, source: Callable[[int], str]) -> list[str]:
    """hostIPs while no Node object has addresses: --node-ip, else the source address of the default route; [] without
    one.

    `source`: see Host.
    """
    specified = specified_ips(given)
    if specified:
        return one_of_each_family(specified)
    prefer = 6 if _parts(given) == ["::"] else 4
    routed = source(prefer) or source(10 - prefer)
    return [routed] if routed else []


def pod_ips_of_sandbox(ips: Iterable[str], given: str) -> list[str]:
    """podIPs: the sandbox's first address of each family; the family of --node-ip (`given`) first, IPv4 without one."""
    return one_of_each_family(ips, six_first=":" in next(iter(_parts(given)), ""))


def one_of_each_family(ips: Iterable[str], *, six_first: bool | None = None) -> list[str]:
    """The first address of each family. `six_first`: whether IPv6 comes first; None: as in `ips`."""
    found: dict[bool, str] = {}
    for ip in ips:
        found.setdefault(":" in ip, ip)
    order = list(found) if six_first is None else [six_first, not six_first]
    return [found[six] for six in order if six in found]
