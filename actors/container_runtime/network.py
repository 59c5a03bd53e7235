"""The pod network of a managed runtime: a bridge, addresses from a local store, masquerading, host ports."""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Iterable
from typing import Any, Final

from .host import Host
from .instance import Instance

CNI_VERSION: Final = "0.4.0"
"""The newest one that the plug-ins of every supported distribution know."""
_PREFIX: Final = 22
"""1022 addresses: as many pods as a node may have, and those that are just ending."""
_SPACE: Final = ipaddress.IPv4Network("10.64.0.0/10")
_NETWORKS: Final = 2 ** (_PREFIX - _SPACE.prefixlen)


class NoFreeNetwork(Exception):
    """Every network that pods could have overlaps with one that the host has routes to."""


def choose_subnet(instance: Instance, used: Iterable[str]) -> str:
    """A network for pods: the first that the host has no route into, counted from one that the instance's id points at.

    Raises NoFreeNetwork.
    """
    used_networks = [ipaddress.IPv4Network(network) for network in used]
    first = int(instance.id, 16)
    for step in range(_NETWORKS):
        base = int(_SPACE.network_address) + (first + step) % _NETWORKS * 2 ** (32 - _PREFIX)
        candidate = ipaddress.IPv4Network((base, _PREFIX))
        if not any(candidate.overlaps(network) for network in used_networks):
            return str(candidate)
    raise NoFreeNetwork(
        f"the host has routes into all of {_SPACE}: give pods a network with a CNI configuration of your own"
    )


def subnet_of(conflist: bytes) -> str:
    """The pods' network in what `render` made before, '' when there is none: pods keep theirs over a restart."""
    try:
        plugins = json.loads(conflist)["plugins"]
        return str(ipaddress.IPv4Network(plugins[0]["ipam"]["ranges"][0][0]["subnet"]))
    except (ValueError, KeyError, IndexError, TypeError):
        return ""


def render(instance: Instance, host: Host, subnet: str) -> str:
    """The text of the conflist."""
    bridge: dict[str, Any] = {
        "type": "bridge",
        "bridge": instance.network,
        "isGateway": True,
        "ipMasq": True,
        "hairpinMode": True,
        "mtu": host.mtu,
        "ipam": {
            "type": "host-local",
            "dataDir": instance.addresses_dir,
            "ranges": [[{"subnet": subnet}]],
            "routes": [{"dst": "0.0.0.0/0"}],
        },
    }
    host_ports = {"type": "portmap", "capabilities": {"portMappings": True}, "snat": True}
    conflist = {"cniVersion": CNI_VERSION, "name": instance.network, "plugins": [bridge, host_ports]}
    return json.dumps(conflist, indent=2) + "\n"
