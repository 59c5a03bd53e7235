"""The addresses of this host, asked of the kernel and of DNS."""

from __future__ import annotations

import socket
from typing import Final

from actors.shared.kube.node_addresses import Host

_FAR: Final = {4: (socket.AF_INET, "192.0.2.1"), 6: (socket.AF_INET6, "2001:db8::1")}
"""Documentation prefixes, which the default route leads to."""


def is_local(address: str) -> bool:
    """Whether an interface has it."""
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
            sock.connect((far, 9))  # UDP: sends nothing, only makes the kernel choose
            return str(sock.getsockname()[0])
    except OSError:
        return ""


def look_up(name: str) -> list[str]:
    """What DNS has for the name, in its order; [] for nothing. Run it in a disposable process: it may hang."""
    try:
        found = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return []
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


THIS_HOST: Final = Host(is_local, source_address)
