"""Which addresses a node gives."""

from __future__ import annotations

import pytest

from actors.api_clients.node_addresses import THIS_HOST, AddressError, Host, choose, look_up, specified_ips


def host(*own: str, v4: str = "10.0.0.7", v6: str = "fd00::7") -> Host:
    return Host(has=lambda ip: ip in own, source=lambda version: {4: v4, 6: v6}[version])


def ips(given: str = "", name: str = "n1", looked_up: tuple[str, ...] = (), at: Host | None = None) -> list[str]:
    made = choose(given, name, list(looked_up), at or host("10.0.0.7", "10.0.0.8", "fd00::7"))
    assert made[-1] == {"type": "Hostname", "address": name}
    assert {one["type"] for one in made[:-1]} == {"InternalIP"}
    return [one["address"] for one in made[:-1]]


@pytest.mark.parametrize(
    ("given", "expected"),
    [("10.0.0.8", ["10.0.0.8"]), ("10.0.0.8,fd00::7", ["10.0.0.8", "fd00::7"]), ("fd00::7", ["fd00::7"])],
)
def test_those_of_node_ip_are_taken(given, expected):
    assert ips(given, looked_up=("10.0.0.7",)) == expected
    assert specified_ips(given) == tuple(expected)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ("127.0.0.1", "nodeIP can't be loopback address"),
        ("169.254.0.1", "nodeIP can't be a link-local unicast address"),
        ("224.0.0.1", "nodeIP can't be a multicast address"),
        ("10.9.9.9", 'node IP: "10.9.9.9" not found in the host\'s network interfaces'),
    ],
)
def test_one_that_nobody_could_reach_it_at_is_refused(given, why):
    with pytest.raises(AddressError, match="failed to validate nodeIP") as caught:
        ips(given)
    assert why in str(caught.value)


def test_a_name_that_is_an_address_is_that_address():
    assert ips(name="10.1.1.1", looked_up=("10.0.0.8",)) == ["10.1.1.1"]


def test_name_service_comes_next_and_its_loopback_is_passed_over():
    assert ips(looked_up=("127.0.1.1", "fd00::7", "10.0.0.8")) == ["10.0.0.8"]
    assert ips("::", looked_up=("10.0.0.8", "fd00::7")) == ["fd00::7"]
    assert ips(looked_up=("10.9.9.9", "fe80::1%eth0")) == ["10.0.0.7"]


def test_at_last_the_default_route_of_either_family():
    assert ips() == ["10.0.0.7"]
    assert ips("::") == ["fd00::7"]
    assert ips(at=host(v4="")) == ["fd00::7"]
    with pytest.raises(AddressError, match="can't get ip address of node n1"):
        ips(at=host(v4="", v6=""))


def test_this_host_has_its_loopback_and_not_a_documentation_address():
    assert THIS_HOST.has("127.0.0.1")
    assert not THIS_HOST.has("192.0.2.77")
    assert "127.0.0.1" in look_up("localhost")
    assert look_up("no-such-name.invalid") == []
