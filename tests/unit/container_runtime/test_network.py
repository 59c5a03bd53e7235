"""The pod network: which addresses pods get, and the configuration that says so."""

from __future__ import annotations

import ipaddress
import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.container_runtime.host import RuntimeHost
from actors.container_runtime.instance import ManagedRuntime
from actors.container_runtime.network import NoFreeNetwork, choose_subnet, render, subnets_of, template

HOST = RuntimeHost(containerd="c", runc="r", ctr="t", plugin_dir="p", mtu=1400)
ROUTES = st.builds(
    lambda address, prefix: str(ipaddress.IPv4Network((address & ~(2 ** (32 - prefix) - 1), prefix))),
    st.integers(0, 2**32 - 1),
    st.integers(9, 32),
)


def instance(root: str = "/var/lib/a") -> ManagedRuntime:
    return ManagedRuntime(root=root, state="/run/a")


@given(st.text("abc/", min_size=1, max_size=20), st.lists(ROUTES, max_size=20))
def test_pods_never_get_addresses_that_the_host_has_a_route_to(root: str, used: list[str]) -> None:
    chosen = ipaddress.IPv4Network(choose_subnet(instance(root), used))
    assert not any(chosen.overlaps(ipaddress.IPv4Network(network)) for network in used)
    assert chosen.num_addresses >= 1024


def test_two_agents_get_different_networks_and_bridges() -> None:
    one, two = instance("/var/lib/a"), instance("/var/lib/b")
    assert choose_subnet(one, ()) != choose_subnet(two, ())
    assert one.network != two.network
    assert len(one.network) <= 15


def test_a_network_that_is_taken_is_passed_over() -> None:
    first = choose_subnet(instance(), ())
    second = choose_subnet(instance(), (first,))
    assert second not in {first, ""}
    assert choose_subnet(instance(), ()) == first


def test_an_error_with_a_remedy_is_raised_if_every_network_is_taken() -> None:
    with pytest.raises(NoFreeNetwork, match="of your own"):
        choose_subnet(instance(), ("10.0.0.0/8",))


def test_the_configuration_gives_back_the_network_that_it_was_made_with() -> None:
    text = render(instance(), HOST, "10.64.4.0/22")
    assert subnets_of(text.encode()) == ["10.64.4.0/22"]
    bridge, host_ports = json.loads(text)["plugins"]
    assert (bridge["bridge"], bridge["mtu"], bridge["ipMasq"]) == (instance().network, 1400, True)
    assert bridge["ipam"]["dataDir"].startswith("/run/a/")
    assert host_ports["capabilities"] == {"portMappings": True}


@given(st.one_of(st.binary(), st.from_type(object).map(repr).map(str.encode), st.just(b'{"plugins": [{"ipam": []}]}')))
def test_a_damaged_configuration_has_no_network(conflist: bytes) -> None:
    assert subnets_of(conflist) == []


def test_containerd_fills_in_the_pod_cidr_of_the_cluster() -> None:
    text = template(instance(), HOST)
    filled = re.sub(r"{{range.*?PodCIDRRanges}}.*?{{end}}\[(.*?)\]{{end}}", r"[\1]", text)
    filled = re.sub(r"{{range.*?Routes}}.*?{{end}}({.*?}){{end}}", r"\1", filled)
    filled = filled.replace("{{$net}}", "10.1.2.0/24").replace("{{$to}}", "0.0.0.0/0")
    assert json.loads(filled) == json.loads(render(instance(), HOST, "10.1.2.0/24"))
