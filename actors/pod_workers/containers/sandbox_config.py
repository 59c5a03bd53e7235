"""The PodSandboxConfig of CRI. Pure."""

from __future__ import annotations

import msgspec

from actors.shared.admission.checks.sysctls import of_host
from actors.shared.kube.names import POD_NAME_LABEL, POD_NAMESPACE_LABEL, POD_UID_LABEL
from actors.shared.kube.pod import Pod
from actors.shared.kube.pods import amount, pod_limits, pod_requests
from actors.shared.kube.sysctls import normalized
from actors.shared.linux.resolv_conf import Dns
from actors.shared.linux.subordinate_ids import IdRange
from proto import cri_pb2 as cri

from .names import kernel_hostname, pod_log_directory
from .resources import NO_QUOTA, quota, shares
from .security import sandbox_context
from .user_namespaces import user_namespace

_PROTOCOLS = {"TCP": cri.TCP, "UDP": cri.UDP, "SCTP": cri.SCTP}


class SandboxContext(msgspec.Struct, frozen=True, kw_only=True):
    """The input of a sandbox besides its pod."""

    logs_dir: str
    cgroup_parent: str
    dns: Dns
    cluster_domain: str = ""
    cpu_period_us: int = 100_000
    exclusive_cpus: bool = False
    """A container of the pod has CPUs of its own."""
    ids: IdRange | None = None
    """The IDs of its user namespace; None: the node's namespace."""
    pod_sysctls: dict[str, str] = {}
    """The node's default sysctls, overridden by the pod's own."""


def sandbox_config(pod: Pod, attempt: int, context: SandboxContext) -> cri.PodSandboxConfig:
    """PodSandboxConfig: identity, names, network, cgroup, namespaces. Raises ConfigError."""
    meta = pod.metadata
    config = cri.PodSandboxConfig(
        metadata=cri.PodSandboxMetadata(name=meta.name, uid=meta.uid, namespace=meta.namespace, attempt=attempt),
        log_directory=pod_log_directory(context.logs_dir, pod),
        dns_config=cri.DNSConfig(
            servers=context.dns.servers, searches=context.dns.searches, options=context.dns.options
        ),
        labels={**meta.labels, **identity(pod)},
        annotations=meta.annotations,
        port_mappings=port_mappings(pod),
    )
    if not pod.spec.hostNetwork:
        config.hostname = kernel_hostname(pod, context.cluster_domain)
    linux = config.linux
    linux.cgroup_parent = context.cgroup_parent
    linux.security_context.CopyFrom(sandbox_context(pod))
    linux.security_context.namespace_options.userns_options.CopyFrom(user_namespace(context.ids))
    for name, value in context.pod_sysctls.items():
        if not of_host(name, pod):
            linux.sysctls[normalized(name)] = value
    for sysctl in pod.spec.securityContext.sysctls:
        linux.sysctls[normalized(sysctl.name)] = sysctl.value
    overhead, resources = sizes(pod, context.cpu_period_us, exclusive_cpus=context.exclusive_cpus)
    linux.resources.CopyFrom(resources)
    linux.overhead.CopyFrom(overhead or cri.LinuxContainerResources())
    return config


def sizes(
    pod: Pod, period_us: int, *, exclusive_cpus: bool
) -> tuple[cri.LinuxContainerResources | None, cri.LinuxContainerResources]:
    """The pod's overhead, and the sum of its containers. With exclusive CPUs, the sum has no quota."""
    overhead, whole = _overhead(pod), _pod_resources(pod, period_us)
    if exclusive_cpus and period_us:
        whole.cpu_quota = NO_QUOTA
    return _resources(overhead, overhead, period_us) if overhead else None, whole


def larger(one: cri.LinuxContainerResources, other: cri.LinuxContainerResources) -> cri.LinuxContainerResources:
    """The larger of both in each resource; no limit is the largest."""

    def limit(first: int, second: int) -> int:
        return min(first, second) if first <= 0 or second <= 0 else max(first, second)

    return cri.LinuxContainerResources(
        cpu_shares=max(one.cpu_shares, other.cpu_shares),
        cpu_quota=limit(one.cpu_quota, other.cpu_quota),
        cpu_period=other.cpu_period,
        memory_limit_in_bytes=limit(one.memory_limit_in_bytes, other.memory_limit_in_bytes),
    )


def identity(pod: Pod) -> dict[str, str]:
    """The labels that identify the pod of a sandbox or container."""
    meta = pod.metadata
    return {POD_NAME_LABEL: meta.name, POD_NAMESPACE_LABEL: meta.namespace, POD_UID_LABEL: meta.uid}


def port_mappings(pod: Pod) -> list[cri.PortMapping]:
    """All ports of the regular containers, also those without a host port: the runtime decides which to map. Of equal
    ports of one container, or ports with the same name, only the first."""
    found: list[cri.PortMapping] = []
    for container in pod.spec.containers:
        ports: dict[object, cri.PortMapping] = {}
        for port in container.ports:
            mapping = cri.PortMapping(
                protocol=_PROTOCOLS.get(port.protocol, cri.TCP),
                container_port=port.containerPort,
                host_port=port.hostPort,
                host_ip=port.hostIP,
            )
            ports.setdefault(port.name or (port.protocol, port.hostIP, port.containerPort, port.hostPort), mapping)
        found += ports.values()
    return found


def _pod_resources(pod: Pod, period_us: int) -> cri.LinuxContainerResources:
    """The resources of all containers, or the pod-level ones, without overhead. Runtimes with virtual machines size the
    sandbox by it."""
    overhead = _overhead(pod)
    wanted = {name: value - overhead.get(name, 0) for name, value in pod_requests(pod).items()}
    return _resources(wanted, pod_limits(pod), period_us)


def _overhead(pod: Pod) -> dict[str, int]:
    return {name: amount(name, quantity) for name, quantity in pod.spec.overhead.items()}


def _resources(wanted: dict[str, int], limits: dict[str, int], period_us: int) -> cri.LinuxContainerResources:
    return cri.LinuxContainerResources(
        cpu_shares=shares(wanted.get("cpu", 0)),
        cpu_quota=quota(limits.get("cpu", 0), period_us),
        cpu_period=period_us,
        memory_limit_in_bytes=limits.get("memory", 0),
    )
