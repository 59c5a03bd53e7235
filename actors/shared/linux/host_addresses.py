"""The addresses of this host, from the kernel and from DNS."""

from __future__ import annotations

import socket
from typing import Final

from actors.shared.kube.node_addresses import HostAddresses

_FAR: Final = {4: (socket.AF_INET, "192.0.2.1"), 6: (socket.AF_INET6, "2001:db8::1")}
"""Addresses of documentation prefixes, which the default route covers."""


def is_local(address: str) -> bool:
    """Whether an interface has the address."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as sock:
        try:
            sock.bind((address, 0))  # the kernel allows it only for an address of this host
        except OSError:
            return False
    return True


def source_address(version: int) -> str:
    """The address that the default route of this family (4, 6) leaves from; '' without one."""
    family, far = _FAR[version]
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as sock:
            sock.connect((far, 9))  # connecting a UDP socket sends nothing; the kernel only selects the address
            return str(sock.getsockname()[0])
    except OSError:
        return ""


def look_up(name: str) -> list[str]:
    """The DNS addresses of the name, in order; [] for none. Run it in a disposable process: it may hang."""
    try:
        found = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return []
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


THIS_HOST: Final = HostAddresses(is_local, source_address)
