"""The directories of one managed containerd, and the names of its objects on the host.

Everything follows from the two directories, so two agents on one host, each with its root directory, never meet.
"""

from __future__ import annotations

import hashlib

import msgspec

from actors.shared.config.agent import MANAGED_LOG
from actors.shared.config.paths import IMAGES_FILE
from actors.shared.cri import leaked_addresses
from actors.shared.linux.systemd import CgroupDriver


class ManagedRuntime(msgspec.Struct, frozen=True, kw_only=True):
    """A managed containerd. Directories are absolute and clean."""

    root: str
    """Kept over reboots: images, snapshots, configuration, log."""
    state: str
    """Not kept over reboots: sockets, mounts, network namespaces, addresses in use."""
    cgroup_driver: CgroupDriver = "cgroupfs"

    @property
    def id(self) -> str:
        """Eight hexadecimal digits that identify the root directory."""
        return hashlib.sha256(self.root.encode()).hexdigest()[:8]

    @property
    def network(self) -> str:
        """Name of the pod network and of its bridge (at most 15 bytes, as the kernel wants it)."""
        return f"trp{self.id}"

    @property
    def socket(self) -> str:
        return f"{self.state}/containerd.sock"

    @property
    def endpoint(self) -> str:
        return f"unix://{self.socket}"

    @property
    def containerd_root(self) -> str:
        return f"{self.root}/data"

    @property
    def temporary(self) -> str:
        """Temporary files of containerd, and its stacks."""
        return f"{self.root}/temporary"

    @property
    def containerd_state(self) -> str:
        return f"{self.state}/state"

    @property
    def runc_state(self) -> str:
        return f"{self.state}/runc"

    @property
    def tasks(self) -> str:
        """One directory for each container that has a shim."""
        return f"{self.containerd_state}/io.containerd.runtime.v2.task/k8s.io"

    @property
    def config_file(self) -> str:
        return f"{self.root}/config.toml"

    @property
    def log_file(self) -> str:
        return f"{self.root}/{MANAGED_LOG}"

    @property
    def network_dir(self) -> str:
        """Watched by containerd: files appear in it by rename only."""
        return f"{self.root}/net.d"

    @property
    def network_file(self) -> str:
        return f"{self.network_dir}/10-{self.network}.conflist"

    @property
    def cluster_network_file(self) -> str:
        """Made by containerd itself of `network_template`, once the cluster has given the node a network for its pods;
        the name is containerd's."""
        return f"{self.network_dir}/10-containerd-net.conflist"

    @property
    def network_template(self) -> str:
        return f"{self.root}/network.template"

    @property
    def addresses_dir(self) -> str:
        return f"{self.state}/{leaked_addresses.FOLDER}"

    @property
    def registries_dir(self) -> str:
        """An operator's <host>/hosts.toml, as in containerd's certs.d."""
        return f"{self.root}/certs.d"

    @property
    def images_file(self) -> str:
        """Says which images were imported."""
        return f"{self.root}/{IMAGES_FILE}"
