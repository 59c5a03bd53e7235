"""resolv.conf and hosts files of pods."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.pod_workers.containers.dns import (
    host_network_hosts_file,
    hosts_file,
    is_of_host,
    pod_dns,
    warnings,
    without_host_file,
)
from actors.shared.kube.meta import ObjectMeta
from actors.shared.kube.pod import HostAlias, Pod, PodDNSConfig, PodDNSConfigOption, PodSpec
from actors.shared.linux.resolv_conf import MAX_SEARCH_CHARACTERS, MAX_SEARCHES, MAX_SERVERS, Dns, parse_resolv_conf

HOST = Dns(servers=["192.0.2.53"], searches=["example.org"], options=["timeout:1"])
CLUSTER = Dns(
    servers=["10.96.0.10"],
    searches=["ns.svc.cluster.local", "svc.cluster.local", "cluster.local", "example.org"],
    options=["ndots:5"],
)


def dns(policy: str = "ClusterFirst", servers: tuple[str, ...] = ("10.96.0.10",), host: Dns = HOST, **spec) -> Dns:
    pod = Pod(metadata=ObjectMeta(name="p", namespace="ns"), spec=PodSpec(dnsPolicy=policy, **spec))
    return pod_dns(pod, host, servers, "cluster.local")


@pytest.mark.parametrize(
    ("policy", "host_network", "expected"),
    [
        ("ClusterFirst", False, CLUSTER),
        ("ClusterFirst", True, HOST),
        ("ClusterFirstWithHostNet", True, CLUSTER),
        ("Default", False, HOST),
        ("None", False, Dns()),
    ],
)
def test_the_policy_decides_which_resolvers_are_used(policy, host_network, expected):
    assert dns(policy, hostNetwork=host_network) == expected


@pytest.mark.parametrize(
    ("policy", "host_network", "of_host"),
    [
        ("Default", False, [True, True]),
        ("ClusterFirst", False, [False, True]),
        ("ClusterFirst", True, [True, True]),
        ("ClusterFirstWithHostNet", True, [False, True]),
        ("None", False, [False, False]),
    ],
)
def test_names_are_resolved_as_by_the_host_under_its_policy_and_without_a_dns_of_the_cluster(
    policy, host_network, of_host
):
    wanted = Pod(spec=PodSpec(dnsPolicy=policy, hostNetwork=host_network))
    assert [is_of_host(wanted, servers) for servers in (["10.96.0.10"], [])] == of_host


def test_without_a_dns_of_the_cluster_the_hosts_is_used():
    assert dns(servers=()) == HOST


def test_the_pods_own_settings_are_added_and_its_options_win():
    options = [PodDNSConfigOption(name="ndots", value="2"), PodDNSConfigOption(name="edns0")]
    config = PodDNSConfig(nameservers=["192.0.2.1"], searches=["corp"], options=options)
    found = dns(dnsConfig=config)
    assert (found.servers, found.searches[-1], found.options) == (
        ["10.96.0.10", "192.0.2.1"],
        "corp",
        ["ndots:2", "edns0"],
    )


@given(st.lists(st.text("ab.", max_size=300), max_size=60), st.lists(st.text("1.", min_size=1), max_size=9))
def test_resolvers_limits_are_kept(searches, servers):
    found = dns("Default", host=Dns(servers=servers, searches=searches))
    assert len(found.servers) <= MAX_SERVERS
    assert len(found.searches) <= MAX_SEARCHES
    assert len(" ".join(found.searches)) <= MAX_SEARCH_CHARACTERS


def test_a_domain_that_resolvers_reject_is_omitted():
    found = dns("Default", host=Dns(searches=["a" * 254, "b"]))
    assert found.searches == ["b"]


@pytest.mark.parametrize(
    ("node_ip", "servers"),
    [
        ("", ["127.0.0.1"]),
        ("10.0.0.1", ["127.0.0.1"]),
        ("fd00::1", ["::1"]),
        ("fd00::1,10.0.0.1", ["::1", "127.0.0.1"]),
    ],
)
def test_without_a_file_of_the_host_the_node_itself_is_queried(node_ip, servers):
    assert without_host_file(node_ip) == Dns(servers=servers, searches=["."])


def test_a_pod_has_an_event_for_each_omitted_dns_setting():
    wanted = Pod(spec=PodSpec(dnsPolicy="ClusterFirst"))
    assert warnings(wanted, HOST, ["10.96.0.10"], "cluster.local") == []
    ((reason, text),) = warnings(wanted, HOST, [], "")
    assert reason == "MissingClusterDNS"
    assert text.endswith('cannot create Pod using "ClusterFirst" policy. Falling back to "Default" policy.')
    many = Dns(servers=["1", "2", "3", "4"], searches=[f"s{number}" for number in range(40)])
    told = warnings(Pod(spec=PodSpec(dnsPolicy="Default")), many, [], "")
    assert [reason for reason, _ in told] == ["DNSConfigForming"] * 2
    assert told[1][1].endswith("some nameservers have been omitted, the applied nameserver line is: 1 2 3")


def test_a_resolv_conf_is_read_as_resolvers_do():
    text = (
        "# c\nnameserver 1.1.1.1\nsearch a b.\n; c\nnameserver ::1 # c\nsearch c .\n"
        "options ndots:9 rotate\noptions ndots:3\nn\n"
    )
    assert parse_resolv_conf(text) == Dns(servers=["1.1.1.1", "::1"], searches=["c"], options=["ndots:3", "rotate"])


def test_an_empty_search_line_takes_back_those_before_it():
    assert parse_resolv_conf("search a b\nsearch\nnameserver\noptions\n") == Dns()


@given(st.text())
def test_any_text_can_be_read(text):
    parse_resolv_conf(text)


def test_a_hosts_file_has_localhost_the_pod_and_its_aliases():
    text = hosts_file(["10.0.0.2", "fd00::2"], "p", "sub.ns.svc.cluster.local", [HostAlias("192.0.2.9", ["x", "y"])])
    assert text.startswith("# Kubernetes-managed hosts file.\n127.0.0.1\tlocalhost\n")
    assert "10.0.0.2\tp.sub.ns.svc.cluster.local\tp\nfd00::2\tp.sub.ns.svc.cluster.local\tp\n" in text
    assert text.endswith("\n# Entries added by HostAliases.\n192.0.2.9\tx\ty\n")
    assert hosts_file(["10.0.0.2"], "p", "", []).endswith("\n10.0.0.2\tp\n"), "without a domain"


def test_a_pod_in_the_hosts_network_has_its_hosts_file():
    text = host_network_hosts_file("127.0.0.1 localhost\n", [HostAlias("192.0.2.9", ["x"])])
    assert text.split("\n")[:2] == ["# Kubernetes-managed hosts file (host network).", "127.0.0.1 localhost"]
    assert "192.0.2.9\tx" in text
