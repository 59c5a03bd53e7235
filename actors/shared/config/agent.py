"""Every actor's `self.context`: the configuration and the paths.

`loading.load` makes it once; it is frozen. When a field changes, the actors that read it are restarted with the new
value.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Final, cast

import msgspec

from . import feature_gates
from .fields.kubelet_configuration import KubeletConfiguration
from .paths import DEFAULT_ROOT_DIR, MANAGED_ROOT, managed_state_dir, run_dir_of, state_dir_of

MANAGED: Final = "managed"
MANAGED_LOG: Final = "containerd.log"
NETWORK_FILES: Final = "net.d/*.conflist"
"""In the root directory of the managed containerd."""
MAX_DEFAULT_WORKERS: Final = 8
CONTAINER_LOGS_DIR: Final = "/var/log/containers"


class Agent(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of one agent. Directories are absolute and clean."""

    config: KubeletConfiguration = KubeletConfiguration()
    """The effective configuration: defaults, file, drop-ins and flags merged."""
    node_name: str = "localhost"
    """--hostname-override or the host name, trimmed, lower case."""
    root_dir: str = DEFAULT_ROOT_DIR
    """--root-dir: pods, plug-ins, state files."""
    run_dir: str = "/run/troupelet"
    """Sockets of the actors, 0700; one for each root directory."""
    cert_dir: str = DEFAULT_ROOT_DIR + "/pki"
    """--cert-dir: certificates and keys that the agent makes or obtains."""
    container_logs_dir: str = CONTAINER_LOGS_DIR
    """Links <pod>_<namespace>_<container>-<id>.log to the logs."""
    runtime_endpoint: str = "unix:///run/containerd/containerd.sock"
    """Address of the CRI runtime, `unix:///...`; the agent's own containerd if the runtime is managed."""
    image_endpoint: str = "unix:///run/containerd/containerd.sock"
    """Address of the CRI image service; the runtime's address by default."""
    managed_runtime: bool = False
    """The agent runs a containerd of its own (`--container-runtime-endpoint=managed`)."""
    workers: int = 2
    """The number of pod worker shards (--workers; default: the cores, from 2 to 8)."""
    standalone: bool = True
    """No --kubeconfig: no API server, static pods only."""
    node_ip: str = ""
    """--node-ip: one address, or two separated by a comma for dual stack; empty: detected."""
    policy_file: str = ""
    """--policy: supervision policy file; empty: the default policy."""
    policy: str = ""
    """The text of the policy in force; empty: the default policy."""
    kubeconfig: str = ""
    """--kubeconfig: how to reach the API server."""
    access: bytes = b""
    """The kubeconfig as loaded at start: msgpack of api.access.ServerAccess; empty: there was none. It is loaded again
    only when its files change."""
    bootstrap_kubeconfig: str = ""
    """--bootstrap-kubeconfig: how to obtain a first client certificate."""
    log_file: str = ""
    """--log-file: the log file besides stderr; empty: none."""
    flags: dict[str, Any] = {}
    """Every flag that sets no field, by name without dashes: its given or default value, in its own type (bool, int,
    str, Duration, list, dict)."""
    flags_given: dict[str, str] = {}
    """The flags as given on the command line, for the log and /flagz; secrets are masked."""
    field_flags: dict[str, Any] = {}
    """The given flags that set fields, as plain data: they take precedence over the files at each reload."""
    warnings: tuple[str, ...] = ()
    """The warnings to log once at start."""
    config_sources: dict[str, str] = {}
    """Field path to the source of its value, `--max-pods` or `file:line`; other fields have their defaults."""
    config_hash: str = ""
    """The hash of the configuration that the agent started with (see checkpoints.py)."""
    config_file: str = ""
    """--config, absolute."""
    config_dir: str = ""
    """--config-dir, absolute."""

    # -- directories ----------------------------------------------------------------------------------------------
    @property
    def pods_dir(self) -> str:
        return f"{self.root_dir}/pods"

    def pod_dir(self, uid: str) -> str:
        return f"{self.root_dir}/pods/{uid}"

    @property
    def pod_logs_dir(self) -> str:
        return self.config.podLogsDir

    @property
    def plugins_dir(self) -> str:
        return f"{self.root_dir}/plugins"

    @property
    def plugins_registry_dir(self) -> str:
        return f"{self.root_dir}/plugins_registry"

    @property
    def device_plugins_dir(self) -> str:
        return f"{self.root_dir}/device-plugins"

    @property
    def pod_resources_dir(self) -> str:
        return f"{self.root_dir}/pod-resources"

    @property
    def pods_api_dir(self) -> str:
        return f"{self.root_dir}/pods-api"

    @property
    def checkpoints_dir(self) -> str:
        return f"{self.root_dir}/checkpoints"

    @property
    def seccomp_dir(self) -> str:
        return f"{self.root_dir}/seccomp"

    @property
    def state_dir(self) -> str:
        """Private files of this agent (configuration checkpoints, incident records), 0700."""
        return state_dir_of(self.root_dir)

    @property
    def config_checkpoint_dir(self) -> str:
        return checkpoint_dir({"root-dir": self.root_dir, **self.flags})

    @property
    def managed_runtime_dir(self) -> str:
        """Root directory of the managed containerd: images, snapshots, configuration."""
        return f"{self.state_dir}/{MANAGED_ROOT}"

    @property
    def managed_state_dir(self) -> str:
        """Sockets and state of the managed containerd."""
        return managed_state_dir(self.run_dir)

    @property
    def managed_log(self) -> str:
        """The log of the managed containerd; '' without one."""
        return f"{self.managed_runtime_dir}/{MANAGED_LOG}" if self.managed_runtime else ""

    # -- values derived from the configuration ----------------------------------------------------------------------
    def gate(self, name: str) -> bool:
        """Whether the feature gate is on. Raises KeyError for a gate that 1.36 does not have."""
        return feature_gates.enabled(name, self.config.featureGates)

    @property
    def serving_cert_file(self) -> str:
        return self.config.tlsCertFile or f"{self.cert_dir}/kubelet.crt"

    @property
    def serving_key_file(self) -> str:
        return self.config.tlsPrivateKeyFile or f"{self.cert_dir}/kubelet.key"

    @property
    def serving_cert_given(self) -> bool:
        """Whether the operator provides the serving certificate; if so, none is generated."""
        return bool(self.config.tlsCertFile or self.config.tlsPrivateKeyFile)

    @property
    def cgroup_root(self) -> str:
        return self.config.cgroupRoot or "/"

    @property
    def seccomp_default(self) -> bool:
        return self.config.seccompDefault or bool(self.flags.get("seccomp-default"))

    @property
    def node_labels(self) -> dict[str, str]:
        """--node-labels."""
        return cast("dict[str, str]", self.flags.get("node-labels") or {})

    @property
    def external_cloud(self) -> bool:
        return self.flags.get("cloud-provider") == "external"

    def with_configuration(self, config: KubeletConfiguration) -> Agent:
        """The same agent with another configuration."""
        return msgspec.structs.replace(self, config=config)


def checkpoint_dir(flags: Mapping[str, Any]) -> str:
    """The directory of configuration checkpoints, from the flags that set no field."""
    return flags.get("dynamic-config-dir") or f"{os.path.normpath(flags['root-dir'])}/troupelet/config"


def default_workers() -> int:
    """One shard per core: at least two, so that one slow pod never delays all; at most eight, because each is a process
    and a large machine belongs to its pods."""
    return min(MAX_DEFAULT_WORKERS, max(2, os.cpu_count() or 2))


__all__ = ["DEFAULT_ROOT_DIR", "MANAGED", "Agent", "checkpoint_dir", "default_workers", "run_dir_of"]
