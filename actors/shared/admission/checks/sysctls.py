"""The sysctls that a pod may set: the safe namespaced ones, and the ones that the node allows in addition. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from actors.shared.admission.request import AdmissionCheck, NodeState, PodAdmitAttributes, Refusal
from actors.shared.kube.pod import Pod
from actors.shared.kube.sysctls import normalized

SAFE: Final = frozenset(
    {
        "kernel.shm_rmid_forced",
        "net.ipv4.ip_local_port_range",
        "net.ipv4.tcp_syncookies",
        "net.ipv4.ping_group_range",
        "net.ipv4.ip_unprivileged_port_start",
        "net.ipv4.ip_local_reserved_ports",
        "net.ipv4.tcp_keepalive_time",
        "net.ipv4.tcp_fin_timeout",
        "net.ipv4.tcp_keepalive_intvl",
        "net.ipv4.tcp_keepalive_probes",
        "net.ipv4.tcp_rmem",
        "net.ipv4.tcp_wmem",
    }
)
_IPC: Final = ("kernel.shm", "kernel.msg", "kernel.sem", "fs.mqueue.")


def forbidden_sysctl(candidate: PodAdmitAttributes, node: NodeState) -> Refusal | None:
    """SysctlForbidden."""
    text = forbidden(candidate.pod, node.allowed_sysctls)
    return Refusal("SysctlForbidden", text) if text else None


def forbidden(pod: Pod, allowed: Iterable[str]) -> str:
    """The first forbidden sysctl of the pod and the reason; '' for none."""
    patterns = [normalized(pattern) for pattern in allowed]
    for sysctl in pod.spec.securityContext.sysctls:
        name = normalized(sysctl.name)
        listed = any(
            name == pattern or (pattern.endswith("*") and name.startswith(pattern[:-1])) for pattern in patterns
        )
        if name not in SAFE and not listed:
            return f'forbidden sysctl: "{name}" not allowlisted'
        if host := of_host(name, pod):
            return f'forbidden sysctl: "{name}" not allowed with host {host} enabled'
    return ""


def of_host(name: str, pod: Pod) -> str:
    """The namespace (Net, IPC) that the pod shares with the node and the sysctl would change; '' for none."""
    name = normalized(name)
    if pod.spec.hostNetwork and name.startswith("net."):
        return "Net"
    return "IPC" if pod.spec.hostIPC and name.startswith(_IPC) else ""


CHECK: Final = AdmissionCheck(20, forbidden_sysctl, of_admitted=True, before_hardware=True)
