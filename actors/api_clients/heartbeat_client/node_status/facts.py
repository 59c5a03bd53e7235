"""The facts that the node's status is computed from. None: not known yet, the status stays as the API has it."""

from __future__ import annotations

from typing import Any

import msgspec

from actors.api_clients.heartbeat_client.messages import NodePressure

from .runtime_state import RuntimeState

Json = dict[str, Any]


class NodeSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of the node in the configuration."""

    name: str
    kubelet_version: str
    kubelet_port: int
    node_ips: tuple[str, ...] = ()
    """Addresses of --node-ip, without 0.0.0.0 and ::."""
    node_ip_given: bool = False
    """--node-ip is set, be it to 0.0.0.0 or ::."""
    external_cloud: bool = False
    max_images: int = 50
    """-1: all."""
    ephemeral_storage: bool = True
    """localStorageCapacityIsolation: the node must have that capacity."""
    declared_features: tuple[str, ...] = ()
    """Sorted."""


class NodeSystemInfo(msgspec.Struct, frozen=True, kw_only=True):
    """The host's facts when this process started."""

    machine_id: str = ""
    system_uuid: str = ""
    boot_id: str = ""
    kernel: str = ""
    os_image: str = ""
    architecture: str = "amd64"
    """As Go names it."""
    swap_bytes: int = 0


class NodeStatusResources(msgspec.Struct, frozen=True, kw_only=True):
    """cpu in thousandths of a core, everything else in bytes or units."""

    capacity: dict[str, int]
    allocatable: dict[str, int]


class ContainerImage(msgspec.Struct, frozen=True):
    names: list[str]
    """Digests before tags."""
    size_bytes: int


class NodeStatusInput(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that the status is computed from, but for the object of the API itself."""

    machine: NodeSystemInfo
    runtime: RuntimeState
    addresses: list[Json] | None = None
    """As the API has them. None: not found."""
    resources: NodeStatusResources | None = None
    devices: NodeStatusResources | None = None
    """The resources of device plugins."""
    images: list[ContainerImage] | None = None
    """Biggest first."""
    runtime_version: str = ""
    handlers: list[Json] | None = None
    supplemental_groups_policy: bool | None = None
    pressure: NodePressure | None = None
    problems: dict[str, str] = {}
    """Why the node is not ready, by source."""
    volumes_in_use: list[str] | None = None


def pod_cidr(node: Json) -> str:
    """The pod CIDR from the cluster: one range, or two joined by a comma; '' while there is none."""
    spec = node.get("spec") or {}
    return ",".join(spec.get("podCIDRs") or [spec.get("podCIDR") or ""])
