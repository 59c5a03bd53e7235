"""Which addresses a node has, and which of them its pods see."""

import json

import pytest

from actors.shared.kube.node_addresses import (
    AddressError,
    HostAddresses,
    choose,
    has_specified,
    host_ips,
    host_ips_without_node,
    one_of_each_family,
    specified_ips,
)


def addresses(*pairs):
    return json.dumps({"status": {"addresses": [{"type": kind, "address": ip} for kind, ip in pairs]}}).encode()


def test_one_address_of_each_family_counts_and_internal_ones_first():
    node = addresses(
        ("Hostname", "n"), ("ExternalIP", "203.0.113.1"), ("InternalIP", "10.0.0.1"), ("InternalIP", "10.0.0.2"),
        ("ExternalIP", "fd00::1"),
    )  # fmt: skip
    assert host_ips(node) == ["10.0.0.1", "fd00::1"]


def test_a_node_with_no_or_invalid_addresses_has_none():
    assert host_ips(addresses(("Hostname", "n"))) == []
    assert host_ips(b"") == host_ips(b"[]") == []


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("10.0.0.8", ["10.0.0.8"]),
        ("fd00::8,10.0.0.8,10.0.0.9", ["fd00::8", "10.0.0.8"]),
        ("", ["10.0.0.7"]),
        ("0.0.0.0", ["10.0.0.7"]),
        ("::", ["fd00::7"]),
    ],
)
def test_without_a_node_object_hostips_are_node_ip_or_the_default_route(given, expected):
    assert host_ips_without_node(given, host().source) == expected


def test_without_a_node_object_or_a_default_route_there_are_no_hostips():
    assert host_ips_without_node("", host(v4="", v6="").source) == []
    assert host_ips_without_node("", host(v4="").source) == ["fd00::7"]


def test_the_order_of_families_is_kept_or_chosen():
    ips = ["fd00::1", "10.0.0.1", "10.0.0.2"]
    assert one_of_each_family(ips) == ["fd00::1", "10.0.0.1"]
    assert one_of_each_family(ips, six_first=False) == ["10.0.0.1", "fd00::1"]


def host(*own: str, v4: str = "10.0.0.7", v6: str = "fd00::7") -> HostAddresses:
    return HostAddresses(has=lambda ip: ip in own, source=lambda version: {4: v4, 6: v6}[version])


def ips(
    given: str = "", name: str = "n1", looked_up: tuple[str, ...] = (), at: HostAddresses | None = None
) -> list[str]:
    made = choose(given, name, list(looked_up), at or host("10.0.0.7", "10.0.0.8", "fd00::7"))
    assert made[-1] == {"type": "Hostname", "address": name}
    assert {one["type"] for one in made[:-1]} == {"InternalIP"}
    return [one["address"] for one in made[:-1]]


@pytest.mark.parametrize(
    ("given", "expected"),
    [("10.0.0.8", ["10.0.0.8"]), ("10.0.0.8,fd00::7", ["10.0.0.8", "fd00::7"]), ("fd00::7", ["fd00::7"])],
)
def test_the_addresses_of_node_ip_are_used(given, expected):
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
def test_an_unreachable_address_is_refused(given, why):
    with pytest.raises(AddressError, match="failed to validate nodeIP") as caught:
        ips(given)
    assert why in str(caught.value)


def test_a_name_that_is_an_address_is_that_address():
    assert ips(name="10.1.1.1", looked_up=("10.0.0.8",)) == ["10.1.1.1"]


def test_name_service_comes_next_and_its_loopback_is_passed_over():
    assert ips(looked_up=("127.0.1.1", "fd00::7", "10.0.0.8")) == ["10.0.0.8"]
    assert ips("::", looked_up=("10.0.0.8", "fd00::7")) == ["fd00::7"]
    assert ips(looked_up=("10.9.9.9", "fe80::1%eth0")) == ["10.0.0.7"]


def test_without_another_source_the_address_is_that_of_the_default_route_of_either_family():
    assert ips() == ["10.0.0.7"]
    assert ips("::") == ["fd00::7"]
    assert ips(at=host(v4="")) == ["fd00::7"]
    with pytest.raises(AddressError, match="can't get ip address of node n1"):
        ips(at=host(v4="", v6=""))


@pytest.mark.parametrize(
    ("given", "ips", "has"),
    [
        ("", [], True),
        ("0.0.0.0", ["10.0.0.1"], True),
        ("10.0.0.1", ["10.0.0.2"], False),
        ("10.0.0.1", ["10.0.0.2", "10.0.0.1"], True),
        ("10.0.0.1,fd00::1", ["10.0.0.1"], False),
        ("fd00::01", ["fd00::1"], True),
    ],
)
def test_whether_the_node_has_the_specified_addresses(given: str, ips: list[str], has: bool) -> None:
    assert has_specified(ips, given) is has
