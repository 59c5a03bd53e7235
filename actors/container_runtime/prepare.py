"""Makes the host ready for a managed containerd: directories, configuration, kernel settings.

Idempotent, and run at each start before the tree is; nothing that it does disturbs containers that run already.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from . import containerd_config, network
from .errors import NotRoot, RuntimeSetupError
from .host import Host
from .instance import Instance

_FORWARDING: Final = ("/proc/sys/net/ipv4/ip_forward", "1")
_BRIDGED: Final = ("/proc/sys/net/bridge/bridge-nf-call-iptables", "1")
"""Only there with the br_netfilter module; without it host ports do not reach pods on the same bridge."""
_LOG_BYTES: Final = 10 * 2**20


def prepare(instance: Instance, host: Host) -> None:
    """Write what containerd reads and set what pods' networks need. Raises NotRoot, RuntimeSetupError."""
    if os.geteuid() != 0:
        raise NotRoot
    try:
        _make_directories(instance)
        subnet = _subnet(instance, host)
        put(instance.config_file, containerd_config.render(instance, host))
        put(instance.network_file, network.render(instance, host, subnet), via=instance.root)
        _rotate(instance.log_file)
        _set(*_FORWARDING)
        if os.path.exists(_BRIDGED[0]):
            _set(*_BRIDGED)
    except (OSError, network.NoFreeNetwork) as error:
        raise RuntimeSetupError(f"the managed container runtime cannot be prepared: {error}") from error


def put(path: str, text: str, via: str = "") -> bool:
    """Write a file by rename, if it does not say so already. Answers whether it was written. Raises OSError.

    `via`: another directory of the same file system to write it in first, when `path`'s is watched for new files.
    """
    target = Path(path)
    content = text.encode()
    if target.exists() and target.read_bytes() == content:
        return False
    new = Path(via or target.parent, f".{target.name}.new")
    with new.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    new.rename(target)
    return True


def _make_directories(instance: Instance) -> None:
    for path, mode in (
        (instance.root, 0o700),
        (instance.network_dir, 0o700),
        (instance.registries_dir, 0o700),
        (instance.state, 0o711),  # containers in user namespaces pass through it
    ):
        os.makedirs(path, exist_ok=True)
        os.chmod(path, mode)


def _subnet(instance: Instance, host: Host) -> str:
    """The one that pods have already, or a new one."""
    try:
        kept = network.subnet_of(Path(instance.network_file).read_bytes())
    except FileNotFoundError:
        kept = ""
    return kept or network.choose_subnet(instance, host.networks)


def _rotate(log_file: str) -> None:
    """Keep the last log, once it has grown: containerd itself never cuts it."""
    log = Path(log_file)
    if log.exists() and log.stat().st_size > _LOG_BYTES:
        log.rename(f"{log_file}.1")


def _set(path: str, value: str) -> None:
    file = Path(path)
    if file.read_text().strip() != value:
        file.write_text(value)
