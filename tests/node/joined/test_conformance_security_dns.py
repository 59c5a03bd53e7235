"""What Kubernetes' conformance suite asks of security contexts, kernel settings, names and name resolution."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from actors.shared.api.errors import Invalid
from tests.node.joined.test_conformance_config import held_up
from tests.node.joined.test_contents import BASE, run
from tests.node.joined.test_pod_features import events, gone, within
from tests.support.joined import Joined, container, pod, status

SECONDS = 30.0
HOSTS = """\
# Kubernetes-managed hosts file.
127.0.0.1\tlocalhost
::1\tlocalhost ip6-localhost ip6-loopback
fe00::0\tip6-localnet
fe00::0\tip6-mcastprefix
fe00::1\tip6-allnodes
fe00::2\tip6-allrouters
"""


def process(site: Joined, name: str, of: str = "main") -> dict[str, str]:
    """/proc/1/status of a container."""
    text = site.kubectl("exec", name, "-c", of, "--", "cat", "/proc/1/status")
    return {key: value.strip() for key, _, value in (line.partition(":") for line in text.splitlines())}


def confined(name: str, **context: Any) -> dict[str, Any]:
    return container(name, securityContext=context)


def test_users_groups_and_privileges_are_those_of_the_container_before_those_of_the_pod(site: Joined) -> None:
    whole = {
        "runAsUser": 1000, "runAsGroup": 2000, "runAsNonRoot": True, "supplementalGroups": [3000], "fsGroup": 4000,
        "seccompProfile": {"type": "RuntimeDefault"},
    }  # fmt: skip
    containers = [
        confined("main"),
        confined("own", runAsUser=1001, runAsGroup=2001, allowPrivilegeEscalation=False, readOnlyRootFilesystem=True),
        confined("open", seccompProfile={"type": "Unconfined"}, allowPrivilegeEscalation=True),
        confined("root", runAsUser=0, runAsNonRoot=False, privileged=True),
        confined("few", runAsUser=0, runAsNonRoot=False, capabilities={"drop": ["ALL"], "add": ["NET_BIND_SERVICE"]}),
    ]
    site.create(pod("confined", *containers, securityContext=whole))
    site.wait_pods_ready("confined")
    found = {one["name"]: process(site, "confined", one["name"]) for one in containers}
    assert {name: one["Uid"].split()[0] for name, one in found.items()} == {
        "main": "1000", "own": "1001", "open": "1000", "root": "0", "few": "0"
    }  # fmt: skip
    assert (found["main"]["Gid"].split()[0], found["own"]["Gid"].split()[0]) == ("2000", "2001")
    assert {"3000", "4000"} <= set(found["main"]["Groups"].split())
    assert [found[name]["NoNewPrivs"] for name in ("main", "own", "open")] == ["0", "1", "0"]
    assert [found[name]["Seccomp"] for name in ("main", "open", "root")] == ["2", "0", "0"]
    assert int(found["few"]["CapEff"], 16) == 1 << 10
    assert int(found["root"]["CapEff"], 16) > int(found["main"]["CapBnd"], 16)
    command = ["exec", "confined", "-c", "own", "--", "sh", "-c", "touch /x 2>&1; true"]
    assert "Read-only file system" in site.kubectl(*command)
    users = {one["name"]: one.get("user", {}) for one in status(site.pod("confined"))["containerStatuses"]}
    assert all(not user or user["linux"]["uid"] == int(found[name]["Uid"].split()[0]) for name, user in users.items())
    gone(site, "confined")


def test_root_is_refused_where_it_is_not_wanted(site: Joined) -> None:
    site.create(
        pod("explicit", confined("main", runAsUser=0), securityContext={"runAsNonRoot": True}),
        pod("implicit", confined("main", runAsNonRoot=True)),
        pod("numbered", confined("main", runAsNonRoot=True, runAsUser=1234)),
    )
    texts = {
        "explicit": "container's runAsUser breaks non-root policy",
        "implicit": "container has runAsNonRoot and image will run as root",
    }
    for name, text in texts.items():
        uid = site.api.call("GET", f"{BASE}/pods/{name}")["metadata"]["uid"]
        whole = f'{text} (pod: "{name}_default({uid})", container: main)'
        held_up(site, name, whole)
    site.wait_pods_ready("numbered")
    for name in ("explicit", "implicit", "numbered"):
        gone(site, name)


def told(site: Joined, name: str, reason: str, text: str) -> bool:
    return any(one == reason and text in message for one, message in events(site, name))


def test_kernel_settings_are_set_where_they_are_safe_and_refuse_the_pod_where_not(site: Joined) -> None:
    def setting(name: str, *sysctls: tuple[str, str], **more: Any) -> dict[str, Any]:
        wanted = [{"name": key, "value": value} for key, value in sysctls]
        return pod(name, securityContext={"sysctls": wanted}, **more)

    safe = (("kernel.shm_rmid_forced", "1"), ("net/ipv4/ip_local_port_range", "20000 30000"))
    site.create(
        setting("safe", *safe),
        setting("unsafe", ("kernel.msgmax", "10000000000")),
    )
    refused = {"unsafe": 'forbidden sysctl: "kernel.msgmax" not allowlisted'}
    with suppress(Invalid):  # the server may refuse it already
        site.create(setting("of-host", ("net.ipv4.tcp_syncookies", "1"), hostNetwork=True))
        refused["of-host"] = 'forbidden sysctl: "net.ipv4.tcp_syncookies" not allowed with host Net enabled'
    for name, text in refused.items():
        said = status(site.wait_phase(name, "Failed"))
        assert (said["reason"], said["message"]) == ("SysctlForbidden", f"Pod was rejected: {text}")
        within(SECONDS, partial(told, site, name, "SysctlForbidden", text), f"event of {name}")
    site.wait_pods_ready("safe")
    shown = run(site, "safe", "cat", "/proc/sys/kernel/shm_rmid_forced", "/proc/sys/net/ipv4/ip_local_port_range")
    assert shown.split() == ["1", "20000", "30000"]
    for name in ("safe", *refused):
        gone(site, name)


def resolver(site: Joined, name: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {"nameserver": [], "search": [], "options": []}
    for line in run(site, name, "cat", "/etc/resolv.conf").splitlines():
        words = line.split()
        found[words[0]] += words[1:]
    return {key: sorted(words) if key == "options" else words for key, words in found.items()}


def of_host() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {"nameserver": [], "search": [], "options": []}
    for line in Path("/etc/resolv.conf").read_text().splitlines():
        words = line.split("#")[0].split()
        if words and words[0] in found:
            found[words[0]] += words[1:]
    return {**found, "nameserver": found["nameserver"][:3], "options": sorted(set(found["options"]))}


def test_names_are_resolved_by_the_dns_policy_of_the_pod(site: Joined) -> None:
    host = of_host()
    cluster = {
        "nameserver": ["10.96.0.10"],
        "search": ["default.svc.cluster.local", "svc.cluster.local", "cluster.local", *host["search"]],
        "options": ["ndots:5"],
    }
    more = {
        "nameservers": ["192.0.2.1"],
        "searches": ["my.dns"],
        "options": [{"name": "ndots", "value": "2"}, {"name": "edns0"}],
    }
    site.create(
        pod("dns-cluster"),
        pod("dns-host", dnsPolicy="Default"),
        pod("dns-net", hostNetwork=True),
        pod("dns-net-cluster", dnsPolicy="ClusterFirstWithHostNet", hostNetwork=True),
        pod("dns-none", dnsPolicy="None", dnsConfig=more),
        pod("dns-more", dnsConfig=more),
    )
    wanted = {
        "dns-cluster": cluster, "dns-host": host, "dns-net": host, "dns-net-cluster": cluster,
        "dns-none": {"nameserver": ["192.0.2.1"], "search": ["my.dns"], "options": ["edns0", "ndots:2"]},
        "dns-more": {
            "nameserver": ["10.96.0.10", "192.0.2.1"],
            "search": [*cluster["search"], "my.dns"],
            "options": ["edns0", "ndots:2"],
        },
    }  # fmt: skip
    site.wait_pods_ready(*wanted, seconds=60.0)
    assert {name: resolver(site, name) for name in wanted} == wanted
    for name in wanted:
        gone(site, name)


def test_excess_dns_settings_are_omitted_and_reported(site: Joined) -> None:
    searches = [f"s{number}.test" for number in range(32)]
    servers = [f"192.0.2.{number}" for number in range(1, 4)]
    site.create(pod("greedy", dnsConfig={"searches": searches, "nameservers": servers}))
    site.wait_pods_ready("greedy")
    found = resolver(site, "greedy")
    assert (len(found["search"]), found["nameserver"]) == (32, ["10.96.0.10", *servers[:2]])
    line = " ".join(found["nameserver"])
    text = (
        f"Nameserver limits were exceeded, some nameservers have been omitted, the applied nameserver line is: {line}"
    )
    within(SECONDS, lambda: ("DNSConfigForming", text) in events(site, "greedy"), "event")
    gone(site, "greedy")


def test_the_agent_writes_the_hosts_file_unless_the_pod_brings_its_own(site: Joined) -> None:
    own = container("own", volumeMounts=[{"name": "file", "mountPath": "/etc/hosts"}])
    volumes = [{"name": "file", "hostPath": {"path": "/etc/hosts", "type": "File"}}]
    aliases = [{"ip": "192.0.2.9", "hostnames": ["foo.test", "bar"]}, {"ip": "192.0.2.10", "hostnames": ["baz"]}]
    extra = "\n# Entries added by HostAliases.\n192.0.2.9\tfoo.test\tbar\n192.0.2.10\tbaz\n"
    site.create(
        pod("hosts", container("main"), own, volumes=volumes, hostAliases=aliases, hostname="h", subdomain="sub"),
        pod("hosts-net", hostNetwork=True, hostAliases=aliases),
        pod("a" * 62 + "-b.c", containers=[container("main")]),
    )
    site.wait_pods_ready("hosts", "hosts-net")
    ip = status(site.pod("hosts"))["podIP"]
    line = f"{ip}\th.sub.default.svc.cluster.local\th\n"
    shown = [site.kubectl("exec", "hosts", "-c", name, "--", "cat", "/etc/hosts") for name in ("main", "own")]
    host = Path("/etc/hosts").read_text()
    assert shown == [HOSTS + line + extra, host]
    begin = "# Kubernetes-managed hosts file (host network).\n"
    assert run(site, "hosts-net", "cat", "/etc/hosts") == begin + host + extra
    assert site.kubectl("exec", "hosts", "-c", "main", "--", "hostname") == "h\n"
    long = "a" * 62 + "-b.c"
    site.wait_pods_ready(long)
    assert run(site, long, "hostname") == "a" * 62 + "\n"
    for name in ("hosts", "hosts-net", long):
        gone(site, name)


def test_a_full_hostname_that_is_too_long_delays_the_pod_and_is_reported(site: Joined) -> None:
    site.create(pod("lengthy", hostname="h" * 40, subdomain="s" * 40, setHostnameAsFQDN=True))
    whole = f"{'h' * 40}.{'s' * 40}.default.svc.cluster.local"
    text = (
        "Failed to create pod sandbox: failed to construct FQDN from pod hostname and cluster domain, FQDN "
        f"{whole} is too long (64 characters is the max, {len(whole)} characters requested)"
    )
    within(SECONDS, lambda: ("FailedCreatePodSandBox", text) in events(site, "lengthy"), "event")
    gone(site, "lengthy")
