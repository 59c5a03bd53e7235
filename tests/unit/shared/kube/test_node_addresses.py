"""Which addresses of a node its pods are told."""

import json

from actors.shared.kube.node_addresses import host_ips


def addresses(*pairs):
    return json.dumps({"status": {"addresses": [{"type": kind, "address": ip} for kind, ip in pairs]}}).encode()


def test_one_of_each_family_counts_and_inner_ones_first():
    node = addresses(
        ("Hostname", "n"), ("ExternalIP", "203.0.113.1"), ("InternalIP", "10.0.0.1"), ("InternalIP", "10.0.0.2"),
        ("ExternalIP", "fd00::1"),
    )  # fmt: skip
    assert host_ips(node) == ["10.0.0.1", "fd00::1"]


def test_a_node_that_tells_none_or_nonsense_has_none():
    assert host_ips(addresses(("Hostname", "n"))) == []
    assert host_ips(b"") == host_ips(b"[]") == []
