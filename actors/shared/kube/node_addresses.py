"""The addresses of a Node object, as its pods have them in hostIPs. Pure."""

from __future__ import annotations

import msgspec

from supervision.errors import UNREADABLE


class _Address(msgspec.Struct, frozen=True):
    type: str = ""
    address: str = ""


class _Status(msgspec.Struct, frozen=True):
    addresses: list[_Address] = []


class _Node(msgspec.Struct, frozen=True):
    status: _Status = _Status()


def host_ips(node: bytes) -> list[str]:
    """The first, inner addresses before outer ones, and the first of the other family; [] for what cannot be read."""
    try:
        addresses = msgspec.json.decode(node, type=_Node).status.addresses
    except UNREADABLE:
        return []
    ips = [one.address for kind in ("InternalIP", "ExternalIP") for one in addresses if one.type == kind]
    return one_of_each_family(ips)


def one_of_each_family(ips: list[str]) -> list[str]:
    """The first of each, in order."""
    found: dict[bool, str] = {}
    for ip in ips:
        found.setdefault(":" in ip, ip)
    return list(found.values())
