"""Makes the host ready for a managed containerd: directories, configuration, kernel settings.

Idempotent; runs at each start, before the tree. It does not disturb running containers.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Final

from supervision.errors import error_text
from supervision.state_file import NotAFileError, read_private, set_aside, write_private

from . import cleanup, containerd_config, network
from .errors import NotRoot, RuntimeSetupError
from .host import RuntimeHost, look
from .instance import ManagedRuntime

_FORWARDING: Final = ("net/ipv4/ip_forward", "1")
_BRIDGED: Final = ("net/bridge/bridge-nf-call-iptables", "1")
"""Only there with the br_netfilter module; without it host ports do not reach pods on the same bridge."""
_LOG_BYTES: Final = 10 * 2**20


def prepare(instance: ManagedRuntime, host: RuntimeHost, *, cluster: bool = False, pod_cidr: str = "") -> None:
    """Write what containerd reads and set what pods' networks need. Raises NotRoot, RuntimeSetupError.

    `cluster`: the node's podCIDR will be the pods' network. Without one `pod_cidr` is, or else a network that the host
    has no route into.
    """
    if os.geteuid() != 0:
        raise NotRoot
    try:
        _make_directories(instance)
        put(instance.config_file, containerd_config.render(instance, host, cluster=cluster))
        if cluster:
            _leave_own_network(instance)
        _put_network(instance, host, cluster=cluster, pod_cidr=pod_cidr)
        _rotate(instance.log_file)
        _set(*_FORWARDING)
        if os.path.exists(f"/proc/sys/{_BRIDGED[0]}"):
            _set(*_BRIDGED)
    except (OSError, network.NoFreeNetwork) as error:
        raise RuntimeSetupError(f"the managed container runtime cannot be prepared: {error_text(error)}") from error


def restore(root_dir: str, runtime_dir: str, state_dir: str, cluster: bool, pod_cidr: str) -> bool:
    """Restore the missing files of the pods' network that containerd reads. Returns whether one was gone.

    In a cluster containerd itself fills in the template, when it gets the pods' network again. Raises
    RuntimeSetupError, OSError.
    """
    instance, host = ManagedRuntime(root=runtime_dir, state=state_dir), look(root_dir)
    gone = not os.path.isdir(instance.network_dir)
    _make_directories(instance)
    try:
        return _put_network(instance, host, cluster=cluster, pod_cidr=pod_cidr) or gone
    except network.NoFreeNetwork as error:
        raise RuntimeSetupError(str(error)) from error


def _put_network(instance: ManagedRuntime, host: RuntimeHost, *, cluster: bool, pod_cidr: str) -> bool:
    if cluster:
        return put(instance.network_template, network.template(instance, host))
    if os.path.exists(instance.cluster_network_file):
        return False  # pods keep the network that a cluster gave
    subnet = _subnet(instance, host, pod_cidr)
    return put(instance.network_file, network.render(instance, host, subnet), via=instance.root)


def put(path: str, text: str, via: str = "") -> bool:
    """Write a file by rename, unless it already has this content. Returns whether it was written. A directory in its
    place is set aside. Raises OSError.

    `via`: another directory of the same file system to write it in first, when `path`'s is watched for new files.
    """
    target = Path(path)
    content = text.encode()
    with suppress(FileNotFoundError, NotAFileError):
        if read_private(target) == content:
            return False
    write_private(target, content, staging=Path(via) if via else None)
    return True


def _make_directories(instance: ManagedRuntime) -> None:
    for path, mode in (
        (instance.root, 0o700),
        (instance.network_dir, 0o700),
        (instance.registries_dir, 0o700),
        (instance.state, 0o711),  # containers in user namespaces pass through it
    ):
        os.makedirs(path, exist_ok=True)
        os.chmod(path, mode)
    for path in (instance.socket, f"{instance.socket}.ttrpc"):
        if os.path.isdir(path):  # containerd itself removes anything else that is in its way
            set_aside(Path(path))


def _subnet(instance: ManagedRuntime, host: RuntimeHost, pod_cidr: str) -> str:
    """The one that pods have already, or the configured one, or a new one. Raises RuntimeSetupError, NoFreeNetwork.

    Pods have that of the configuration made before or, if it was removed, that of the bridge: another is refused there.
    """
    routed = {routes_to for interface, routes_to in host.networks if interface == instance.network}
    kept = next(iter([*_subnets(instance.network_file), *routed]), "")
    if not pod_cidr:
        return kept or network.choose_subnet(instance, (routes_to for _, routes_to in host.networks))
    if "," in pod_cidr or ":" in pod_cidr:
        raise RuntimeSetupError(f"podCIDR: {pod_cidr}: the managed container runtime takes one IPv4 network")
    if kept and kept != pod_cidr and has_pods(instance):
        raise _subnet_in_use(kept, f"podCIDR is {pod_cidr}")
    return pod_cidr


def check_network(instance: ManagedRuntime, host: RuntimeHost, *, cluster: bool, pod_cidr: str) -> None:
    """Raises what `prepare` with these arguments would raise for the network that pods have; changes nothing."""
    if cluster:
        _own_network(instance)
    else:
        _subnet(instance, host, pod_cidr)


def _own_network(instance: ManagedRuntime) -> list[str]:
    """The network of an agent without a cluster. Raises RuntimeSetupError if pods have it."""
    own = _subnets(instance.network_file)
    if own and has_pods(instance):
        raise _subnet_in_use(own[0], "a cluster gives each node another one")
    return own


def _leave_own_network(instance: ManagedRuntime) -> None:
    """Take away the network of an agent without a cluster: another node may have the same. Raises RuntimeSetupError."""
    if _own_network(instance):
        cleanup.remove_network(instance)  # a bridge with another address would be refused
        Path(instance.network_file).unlink(missing_ok=True)


def _subnet_in_use(subnet: str, reason: str) -> RuntimeSetupError:
    return RuntimeSetupError(
        f"pods that run have addresses of {subnet}, and {reason}",
        "end them (`supervise reset`, or remove their manifests and start the agent without --kubeconfig once)",
    )


def _subnets(file: str) -> list[str]:
    try:
        return network.subnets_of(read_private(file))
    except FileNotFoundError:
        return []


def has_pods(instance: ManagedRuntime) -> bool:
    """Whether a container, of a pod or a sandbox, has a shim."""
    try:
        return bool(os.listdir(instance.tasks))
    except FileNotFoundError:
        return False


def _rotate(log_file: str) -> None:
    """Keep the last log, once it has grown: containerd itself never cuts it."""
    log = Path(log_file)
    if log.exists() and log.stat().st_size > _LOG_BYTES:
        log.rename(f"{log_file}.1")


def _set(name: str, value: str) -> None:
    if Path(f"/proc/sys/{name}").read_text().strip() != value:
        Path(f"/proc/sys/{name}").write_text(value)
