"""Whether the serving pair stays, or a new one is created or requested. Pure."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from enum import StrEnum

from .certificate import Certificate
from .rotation import is_due

RENEW_BEFORE_SECONDS = 30 * 24 * 3600
"""A self-signed pair is replaced this long before it expires."""


class ServingPairAction(StrEnum):
    KEEP = "keep"
    MAKE = "make"
    BROKEN = "broken"
    """The operator's own pair is not usable. The agent never replaces it."""


def check(pair: Certificate | None, *, given: bool, required: Iterable[str], now: float) -> ServingPairAction:
    """`pair` is None when it is missing or unusable; `given`: the files belong to the operator."""
    if given:
        return ServingPairAction.BROKEN if pair is None else ServingPairAction.KEEP
    if pair is None or pair.not_after - now < RENEW_BEFORE_SECONDS:
        return ServingPairAction.MAKE
    return ServingPairAction.KEEP if set(required) <= pair.names else ServingPairAction.MAKE


def subject_names(node_name: str, node_ip: str, addresses: Iterable[str]) -> list[str]:
    """The names and addresses for the SAN, without duplicates: the node's name, its addresses, localhost."""
    required = [node_name, *(part for part in node_ip.split(",") if part), *addresses, "localhost", "127.0.0.1"]
    return list(dict.fromkeys(required))


def names_to_sign(ips: Iterable[str], names: Iterable[str], *, dns_only: bool) -> tuple[str, ...]:
    """The names and addresses to request in a signed serving certificate, sorted. Empty while no address is known.

    A host name may be an address. Names alone are enough with `dns_only` (gate AllowDNSOnlyNodeCSR).
    """
    addresses = {str(ipaddress.ip_address(one)) for one in (*ips, *names) if _is_ip(one)}
    dns = {one for one in names if one and not _is_ip(one)}
    return (*sorted(dns), *sorted(addresses)) if addresses or (dns_only and dns) else ()


def to_request(pair: Certificate | None, user: str, required: Iterable[str], now: float) -> bool:
    """Whether to request a new signed serving certificate, which has all `required` names."""
    if pair is None or pair.common_name != user or not set(required) <= pair.names:
        return True
    return is_due(pair, now)


def _is_ip(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True
