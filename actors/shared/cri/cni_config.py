"""Reads the pods' networks from a CNI configuration list (CNI specification, host-local's `ranges`)."""

from __future__ import annotations

import msgspec

from supervision.errors import UNREADABLE


class _Range(msgspec.Struct, frozen=True):
    subnet: str


class _Ipam(msgspec.Struct, frozen=True):
    ranges: list[list[_Range]] = []


class _NetworkPlugin(msgspec.Struct, frozen=True):
    ipam: _Ipam = _Ipam()


class _ConfList(msgspec.Struct, frozen=True):
    plugins: list[_NetworkPlugin] = []


def subnets_in(conflist: bytes) -> list[str]:
    """The subnet of each address family in the first plugin, as it is written there; none if it cannot be read."""
    try:
        plugins = msgspec.json.decode(conflist, type=_ConfList).plugins
    except UNREADABLE:
        return []
    ranges = plugins[0].ipam.ranges if plugins else []
    return [each[0].subnet for each in ranges] if all(ranges) else []
