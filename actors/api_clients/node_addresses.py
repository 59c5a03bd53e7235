"""Which addresses the Node object has: --node-ip, or what the host name or the default route leads to.

`choose` is pure; the host is asked through a `Host`, so that a name service that hangs can be asked apart.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Callable
from typing import Any, Final

import msgspec

Json = dict[str, Any]
IP = ipaddress.IPv4Address | ipaddress.IPv6Address
_FAR: Final = {4: (socket.AF_INET, "192.0.2.1"), 6: (socket.AF_INET6, "2001:db8::1")}
"""Documentation prefixes, which the default route leads to."""


class AddressError(Exception):
    """No address can be given; the text says why."""


class Host(msgspec.Struct, frozen=True):
    """What is asked of the host."""

    has: Callable[[str], bool]
    """Whether an interface has this address."""
    source: Callable[[int], str]
    """The address that the default route of this family (4, 6) leaves from; '' without one."""


def choose(given: str, name: str, looked_up: list[str], host: Host) -> list[Json]:
    """The list of NodeAddress. `given` is --node-ip, `name` the node's, `looked_up` what name service has for it.

    Raises AddressError.
    """
    wanted = [ipaddress.ip_address(part.strip()) for part in given.split(",") if part.strip()]
    specified = [ip for ip in wanted if not ip.is_unspecified]
    if specified:
        for ip in specified:
            if problem := unfit(ip, host):
                raise AddressError(f"failed to validate nodeIP: {problem}")
        return _objects([str(ip) for ip in specified], name)
    prefer = 6 if wanted and wanted[0].version == 6 else 4
    return _objects([_found(name, looked_up, prefer, host)], name)


def unfit(ip: IP, host: Host) -> str:
    """Why a node cannot be reached at this address; '' when it can."""
    if ip.is_loopback:
        return "nodeIP can't be loopback address"
    if ip.is_multicast:
        return "nodeIP can't be a multicast address"
    if ip.is_link_local:
        return "nodeIP can't be a link-local unicast address"
    if ip.is_unspecified:
        return "nodeIP can't be an all zeros address"
    return "" if host.has(str(ip)) else f'node IP: "{ip}" not found in the host\'s network interfaces'


def _found(name: str, looked_up: list[str], prefer: int, host: Host) -> str:
    """The name itself, if it is an address; what it resolves to; where the default route leaves from."""
    named = _address(name)
    if named is not None:
        return str(named)
    usable = [ip for text in looked_up if (ip := _address(text)) is not None and not unfit(ip, host)]
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
    return [
        *({"type": "InternalIP", "address": ip} for ip in ips),
        {"type": "Hostname", "address": name},
    ]


def specified_ips(given: str) -> tuple[str, ...]:
    """The addresses of --node-ip, without those that only choose a family."""
    parts = [part.strip() for part in given.split(",") if part.strip()]
    return tuple(part for part in parts if not ipaddress.ip_address(part).is_unspecified)


# -- the host itself --------------------------------------------------------------------------------------------------
def _is_local(address: str) -> bool:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as sock:
        try:
            sock.bind((address, 0))  # the kernel allows it only for an address of this host
        except OSError:
            return False
    return True


def _source(version: int) -> str:
    family, far = _FAR[version]
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as sock:
            sock.connect((far, 9))  # of UDP, sends nothing: it makes the kernel choose
            return str(sock.getsockname()[0])
    except OSError:
        return ""


def look_up(name: str) -> list[str]:
    """What name service has for it, in its order; [] for nothing. Run it apart: it may hang."""
    try:
        found = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return []
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


THIS_HOST: Final = Host(_is_local, _source)
