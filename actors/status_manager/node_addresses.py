"""The addresses of this node, as pods have them in hostIPs while no Node object tells them."""

from __future__ import annotations

import socket

from .pod_status import one_of_each_family


def node_ips(configured: str) -> list[str]:
    """`--node-ip` (one address, or two joined by a comma); without it the one that the default route leaves from."""
    given = [ip.strip() for ip in configured.split(",") if ip.strip()]
    usable = [ip for ip in given if ip not in ("0.0.0.0", "::")]  # noqa: S104 - these stand for a family, no listener
    if usable:
        return one_of_each_family(usable, six_first=":" in usable[0])
    found = [ip for family, far in _PROBES if (ip := _source_address(family, far))]
    return one_of_each_family(found, six_first=given == ["::"])[:1] or ["127.0.0.1"]


_PROBES = ((socket.AF_INET, "192.0.2.1"), (socket.AF_INET6, "2001:db8::1"))


def _source_address(family: socket.AddressFamily, far: str) -> str:
    # a UDP connect sends nothing; it only makes the kernel choose a source address (documentation prefixes)
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as sock:
            sock.connect((far, 9))
            return str(sock.getsockname()[0])
    except OSError:
        return ""
