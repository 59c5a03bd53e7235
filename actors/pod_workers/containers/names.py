"""Names and paths that the runtime, log collectors and later incarnations rely on. Pure."""

from __future__ import annotations

from actors.pod_workers.errors import ConfigError
from actors.shared.kube.pod import Pod

MAX_HOSTNAME = 63
MAX_KERNEL_NAME = 64
MAX_LINK_NAME = 255


def label(pod: Pod) -> str:
    """The name of the pod in texts for users."""
    return f"{pod.metadata.name}_{pod.metadata.namespace}({pod.metadata.uid})"


def log_directory(logs_dir: str, namespace: str, name: str, uid: str) -> str:
    return f"{logs_dir}/{namespace}_{name}_{uid}"


def pod_log_directory(logs_dir: str, pod: Pod) -> str:
    return f"{logs_dir}/{log_directory_name(pod)}"


def log_directory_name(pod: Pod) -> str:
    """The pod's directory, below the directory of all logs."""
    return f"{pod.metadata.namespace}_{pod.metadata.name}_{pod.metadata.uid}"


def log_path(container: str, restart_count: int) -> str:
    """Relative to the pod's log directory."""
    return f"{container}/{restart_count}.log"


def log_link(links_dir: str, pod: Pod, container: str, container_id: str) -> str:
    """The link for log collectors, truncated to the maximum file name length with its suffix kept."""
    stem = f"{pod.metadata.name}_{pod.metadata.namespace}_{container}-{container_id}"
    return f"{links_dir}/{stem[: MAX_LINK_NAME - 4]}.log"


def domain(pod: Pod, cluster_domain: str) -> str:
    """The domain of the pod in the cluster's DNS; '' for none. Without a cluster domain it ends with `.svc.`, as in the
    kubelet (GeneratePodHostNameAndDomain)."""
    if pod.spec.hostnameOverride or not pod.spec.subdomain:
        return ""
    return f"{pod.spec.subdomain}.{pod.metadata.namespace}.svc.{cluster_domain}"


def kernel_hostname(pod: Pod, cluster_domain: str) -> str:
    """The host name in the kernel. Raises ConfigError when the fully qualified name is too long for it."""
    name, rest = hostname(pod), domain(pod, cluster_domain)
    if not (pod.spec.setHostnameAsFQDN and rest):
        return name
    whole = f"{name}.{rest}"
    if len(whole) > MAX_KERNEL_NAME:
        raise ConfigError(
            f"failed to construct FQDN from pod hostname and cluster domain, FQDN {whole} is too long "
            f"({MAX_KERNEL_NAME} characters is the max, {len(whole)} characters requested)"
        )
    return whole


def hostname(pod: Pod) -> str:
    """The pod's host name: spec.hostname, else its name, cut to 63 characters."""
    wanted = pod.spec.hostnameOverride or pod.spec.hostname or pod.metadata.name
    return wanted[:MAX_HOSTNAME].rstrip("-.")
