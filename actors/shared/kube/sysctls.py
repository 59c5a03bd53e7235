"""The names of sysctls (sysctl.d(5)). Pure."""

from __future__ import annotations

from typing import Final

_SWAPPED: Final = str.maketrans("./", "/.")


def normalized(name: str) -> str:
    """The name with dots between its parts. If slashes separate the parts, dots belong to a part, and the other way
    round: `net/ipv4/conf/eth0.100/forwarding` is `net.ipv4.conf.eth0/100.forwarding`."""
    first = next((char for char in name if char in "./"), "")
    return name.translate(_SWAPPED) if first == "/" else name
