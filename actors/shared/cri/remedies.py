"""What mends a container runtime or a pod network that does not work, for `supervise status` and `supervise doctor`.
Pure."""

from __future__ import annotations

from shlex import quote
from typing import Final, NamedTuple

_UNITS: Final = (("crio", "crio"), ("cri-dockerd", "cri-docker"))
"""(part of a socket's path, its unit of systemd)."""
_CONTAINERD: Final = "containerd"


class RuntimeRemedies(NamedTuple):
    """What mends one runtime or image service."""

    absent: str
    """No program listens on its socket."""
    silent: str
    """It does not answer."""
    errors: str
    """It answers with errors, or that it is not ready."""


def of_runtime(endpoint: str, log: str = "") -> RuntimeRemedies:
    """For the service at this endpoint. `log`: the log file of a managed runtime, which is no unit of systemd, and
    which the agent starts again by itself."""
    if log:
        look = f"supervise incidents container_runtime; tail {quote(log)}"
        return RuntimeRemedies(look, look, look)
    unit = next((unit for part, unit in _UNITS if part in endpoint), _CONTAINERD)
    journal = f"journalctl -u {unit}"
    return RuntimeRemedies(
        absent=f"systemctl start {unit}, or set containerRuntimeEndpoint to the socket of another",
        silent=f"systemctl status {unit}; {journal}; systemctl restart {unit}: containers keep running",
        errors=journal,
    )


def managed_network(log: str) -> str:
    """For the pod network of a managed runtime, whose configuration the agent makes. `log`: its log file."""
    return (
        "wait: the agent makes the configuration again and restarts its runtime; if it stays: "
        f"apt-get install containernetworking-plugins; tail {quote(log)}"
    )


def network_plugin(directories: str = "/etc/cni/net.d /opt/cni/bin") -> str:
    """For a pod network that is not ready. `directories`: those of the runtime's CNI files, in which it looks for
    configurations and plugins."""
    return (
        f"ls {directories}: if one is empty, install the cluster's network plugin (kubectl apply -f ...); "
        "else correct the file, and restart the runtime, which does not see each change"
    )
