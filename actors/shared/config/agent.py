"""What every actor is handed before the first fork, as `self.context`: the configuration, and where things are.

Made once, by `loading.load`; frozen. When a field that it reads changes, an actor is restarted and finds the new value.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Final, cast

import msgspec

from . import feature_gates
from .fields.kubelet_configuration import KubeletConfiguration
from .paths import DEFAULT_ROOT_DIR, run_dir_of, state_dir_of

MANAGED: Final = "managed"
MAX_DEFAULT_WORKERS: Final = 8
CONTAINER_LOGS_DIR: Final = "/var/log/containers"


class Agent(msgspec.Struct, frozen=True, kw_only=True):
    """The agent as it was started. Directories are absolute and clean."""

    config: KubeletConfiguration = KubeletConfiguration()
    """Effective: defaults, file, drop-ins and flags merged."""
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
    """Address of the CRI runtime, `unix:///...`; that of our own containerd when it is managed."""
    image_endpoint: str = "unix:///run/containerd/containerd.sock"
    """Address of the CRI image service; that of the runtime unless one is given."""
    managed_runtime: bool = False
    """The agent runs a containerd of its own (`--container-runtime-endpoint=managed`)."""
    workers: int = 2
    """Pod workers in the tree (--workers; default: the cores, from 2 to 8)."""
    standalone: bool = True
    """No --kubeconfig: no API server, static pods only."""
    node_ip: str = ""
    """--node-ip: one address, or two joined by a comma for dual stack; empty: found out."""
    policy_file: str = ""
    """--policy: supervision policy; empty: the one that came with the agent."""
    policy: str = ""
    """The text of it, as it is in force; empty: that of the file that came with the agent."""
    kubeconfig: str = ""
    """--kubeconfig: how to reach the API server."""
    access: bytes = b""
    """What that came to when the agent was started: msgpack of api.access.Access; empty: there was none yet. As long as
    the files are as they were, it need not be loaded again."""
    bootstrap_kubeconfig: str = ""
    """--bootstrap-kubeconfig: how to obtain a first client certificate."""
    log_file: str = ""
    """--log-file: where the log goes besides stderr; empty: nowhere else."""
    flags: dict[str, Any] = {}
    """Every flag without a field of the configuration, by name without dashes: given or default, in its own type
    (bool, int, str, Duration, list, dict)."""
    flags_given: dict[str, str] = {}
    """The flags on the command line as they were written, for the log and /flagz; secrets masked."""
    field_flags: dict[str, Any] = {}
    """The flags given that set fields, as plain data: they win over the files each time those are read."""
    warnings: tuple[str, ...] = ()
    """What was accepted with a warning, to be logged once at start."""
    config_sources: dict[str, str] = {}
    """Field path to where its value came from, `--max-pods` or `file:line`; fields that are not in it are defaults."""
    config_hash: str = ""
    """Name of the configuration that the agent was started with (see checkpoints.py)."""
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
    def checkpoints_dir(self) -> str:
        return f"{self.root_dir}/checkpoints"

    @property
    def seccomp_dir(self) -> str:
        return f"{self.root_dir}/seccomp"

    @property
    def state_dir(self) -> str:
        """Files that only this agent reads (configuration checkpoints, incident records), 0700."""
        return state_dir_of(self.root_dir)

    @property
    def config_checkpoint_dir(self) -> str:
        return checkpoint_dir({"root-dir": self.root_dir, **self.flags})

    @property
    def managed_runtime_dir(self) -> str:
        """Root of our own containerd: its images, snapshots, configuration."""
        return f"{self.state_dir}/containerd"

    @property
    def managed_state_dir(self) -> str:
        """Sockets and state of our own containerd; beside run_dir, so that it outlives the actors' sockets."""
        return f"{self.run_dir}-containerd"

    # -- configuration with what is derived from it -----------------------------------------------------------------
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
        """The serving certificate is the operator's, so none is made."""
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

    @property
    def state_of_gates(self) -> dict[str, bool]:
        """Every known gate with its effective value."""
        return feature_gates.all_states(self.config.featureGates)

    def with_configuration(self, config: KubeletConfiguration) -> Agent:
        """The same agent under another configuration."""
        return msgspec.structs.replace(self, config=config)


def checkpoint_dir(flags: Mapping[str, Any]) -> str:
    """Where configurations are checkpointed, by the flags without a field."""
    return flags.get("dynamic-config-dir") or f"{os.path.normpath(flags['root-dir'])}/troupelet/config"


def default_workers() -> int:
    """Pod workers: one for each core, at least two, so that one slow pod never holds up all; at most eight, as each is
    a process, and the rest of a large machine is the pods'."""
    return min(MAX_DEFAULT_WORKERS, max(2, os.cpu_count() or 2))


__all__ = ["DEFAULT_ROOT_DIR", "MANAGED", "Agent", "checkpoint_dir", "default_workers", "run_dir_of"]
