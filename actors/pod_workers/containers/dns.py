"""resolv.conf and /etc/hosts of pods. Pure: the caller reads the host's file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from actors.shared.kube.pod import HostAlias, Pod
from actors.shared.linux.resolv_conf import (
    MAX_DOMAIN_CHARACTERS,
    MAX_SEARCH_CHARACTERS,
    MAX_SEARCHES,
    MAX_SERVERS,
    Dns,
)

from .names import label

MISSING_CLUSTER_DNS: Final = "MissingClusterDNS"
NO_CLUSTER_DNS: Final = (
    'kubelet does not have ClusterDNS IP configured and cannot create Pod using "ClusterFirst" policy. '
    'Falling back to "Default" policy.'
)
"""The text of the node's event; in the pod's event, the pod's name precedes it."""


def without_host_file(node_ip: str) -> Dns:
    """The host's settings if `resolvConf` is "": a resolver on the node, for each IP family of `node_ip`
    (--node-ip)."""
    servers = ["::1" if ":" in address else "127.0.0.1" for address in node_ip.split(",")]
    return Dns(servers=servers, searches=["."])


def is_of_host(pod: Pod, cluster_servers: Sequence[str]) -> bool:
    """Whether the pod resolves names as its host does."""
    policy = policy_of(pod)
    return policy == "Default" or (policy == "ClusterFirst" and not cluster_servers)


def pod_dns(pod: Pod, host: Dns, cluster_servers: Sequence[str], cluster_domain: str) -> Dns:
    """The DNS settings by the pod's policy and dnsConfig, truncated to the limits."""
    policy = policy_of(pod)
    return _cut(_untruncated(pod, policy, host, cluster_servers, cluster_domain))


def warnings(pod: Pod, host: Dns, cluster_servers: Sequence[str], cluster_domain: str) -> list[tuple[str, str]]:
    """Reason and message of the events about truncated settings."""
    policy, found = policy_of(pod), []
    if policy == "ClusterFirst" and not cluster_servers:
        found.append((MISSING_CLUSTER_DNS, f'pod: "{label(pod)}". {NO_CLUSTER_DNS}'))
    whole = _untruncated(pod, policy, host, cluster_servers, cluster_domain)
    cut = _cut(whole)
    for begin, line, before, after in (
        ("Search Line limits were exceeded, some search paths", "search line", whole.searches, cut.searches),
        ("Nameserver limits were exceeded, some nameservers", "nameserver line", whole.servers, cut.servers),
    ):
        if before != after:
            text = f"{begin} have been omitted, the applied {line} is: {' '.join(after)}"
            found.append(("DNSConfigForming", text))
    return found


def _untruncated(pod: Pod, policy: str, host: Dns, cluster_servers: Sequence[str], cluster_domain: str) -> Dns:
    """The settings before truncation."""
    if policy == "None":
        base = Dns()
    elif policy == "ClusterFirst" and cluster_servers:
        namespace = pod.metadata.namespace
        own = [f"{namespace}.svc.{cluster_domain}", f"svc.{cluster_domain}", cluster_domain] if cluster_domain else []
        base = Dns(servers=list(cluster_servers), searches=_unique([*own, *host.searches]), options=["ndots:5"])
    else:
        base = host
    return _merge(pod, base)


def policy_of(pod: Pod) -> str:
    """The effective policy, None, Default or ClusterFirst, considering the pod's network."""
    policy = pod.spec.dnsPolicy or "ClusterFirst"
    if policy == "ClusterFirst" and pod.spec.hostNetwork:
        return "Default"
    return "ClusterFirst" if policy == "ClusterFirstWithHostNet" else policy


def _merge(pod: Pod, base: Dns) -> Dns:
    config = pod.spec.dnsConfig
    if config is None:
        return base
    options = dict(option.partition(":")[::2] for option in base.options)
    for option in config.options:
        options[option.name] = option.value or ""
    return Dns(
        servers=_unique([*base.servers, *config.nameservers]),
        searches=_unique([*base.searches, *config.searches]),
        options=[f"{name}:{value}" if value else name for name, value in options.items()],
    )


def _cut(dns: Dns) -> Dns:
    searches: list[str] = []
    for domain in dns.searches[:MAX_SEARCHES]:
        if len(domain) > MAX_DOMAIN_CHARACTERS:
            continue  # resolvers abort
        if len(" ".join([*searches, domain])) > MAX_SEARCH_CHARACTERS:
            break
        searches.append(domain)
    return Dns(servers=dns.servers[:MAX_SERVERS], searches=searches, options=dns.options)


def _unique(items: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(items))


def hosts_file(ips: Sequence[str], hostname: str, domain: str, aliases: Iterable[HostAlias]) -> str:
    """/etc/hosts of a pod with its own network."""
    lines = [
        "# Kubernetes-managed hosts file.",
        "127.0.0.1\tlocalhost",
        "::1\tlocalhost ip6-localhost ip6-loopback",
        "fe00::0\tip6-localnet",
        "fe00::0\tip6-mcastprefix",
        "fe00::1\tip6-allnodes",
        "fe00::2\tip6-allrouters",
    ]
    names = f"{hostname}.{domain}\t{hostname}" if domain else hostname
    lines += [f"{ip}\t{names}" for ip in ips]
    return "\n".join(lines) + "\n" + _aliases(aliases)


def host_network_hosts_file(host: str, aliases: Iterable[HostAlias]) -> str:
    """/etc/hosts of a pod in the node's network: the node's own, and the pod's aliases."""
    return "# Kubernetes-managed hosts file (host network).\n" + host + _aliases(aliases)


def _aliases(aliases: Iterable[HostAlias]) -> str:
    lines = ["\t".join([alias.ip, *alias.hostnames]) for alias in aliases]
    return "\n# Entries added by HostAliases.\n" + "\n".join(lines) + "\n" if lines else ""
