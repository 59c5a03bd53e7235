"""The pod network of a managed runtime: a bridge, addresses from a local store, masquerading, host ports."""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Iterable
from typing import Any, Final

from actors.shared.cri.cni_config import subnets_in

from .host import RuntimeHost
from .instance import ManagedRuntime

CNI_VERSION: Final = "0.4.0"
"""The newest one that the plug-ins of every supported distribution know."""
_PREFIX: Final = 22
"""1022 addresses: as many pods as a node may have, and those that are just ending."""
_SPACE: Final = ipaddress.IPv4Network("10.64.0.0/10")
_NETWORKS: Final = 2 ** (_PREFIX - _SPACE.prefixlen)


class NoFreeNetwork(Exception):
    """Every network that pods could have overlaps with one that the host has routes to."""


def choose_subnet(instance: ManagedRuntime, used: Iterable[str]) -> str:
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


def subnets_of(conflist: bytes) -> list[str]:
    """The pods' networks in a configuration that an earlier start wrote, so that they stay the same over a restart;
    [] if it has none. `conflist`: written by `render`, or by containerd from `template`."""
    try:
        return [str(ipaddress.ip_network(subnet)) for subnet in subnets_in(conflist)]
    except ValueError:
        return []


def template(instance: ManagedRuntime, host: RuntimeHost) -> str:
    """The same conflist for a network that the cluster gives later: containerd fills it in (its docs/cri/config.md)."""
    ranges = '{{range $at, $net := .PodCIDRRanges}}{{if $at}}, {{end}}[{"subnet": "{{$net}}"}]{{end}}'
    routes = '{{range $at, $to := .Routes}}{{if $at}}, {{end}}{"dst": "{{$to}}"}{{end}}'
    document = _conflist(instance, host, "0.0.0.0/0")
    document["plugins"][0]["ipam"] |= {"ranges": "RANGES", "routes": "ROUTES"}
    filled = json.dumps(document, indent=2).replace('"RANGES"', f"[{ranges}]").replace('"ROUTES"', f"[{routes}]")
    return filled + "\n"


def render(instance: ManagedRuntime, host: RuntimeHost, subnet: str) -> str:
    """The text of the conflist."""
    return json.dumps(_conflist(instance, host, subnet), indent=2) + "\n"


def _conflist(instance: ManagedRuntime, host: RuntimeHost, subnet: str) -> dict[str, Any]:
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
    return {"cniVersion": CNI_VERSION, "name": instance.network, "plugins": [bridge, host_ports]}
