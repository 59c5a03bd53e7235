"""Messages to the device manager, and its answers.

Questions of container_manager are about one container of a pod that asks for extended resources. Resources that no
plugin serves or served are left out of the answers.
"""

from __future__ import annotations

from typing import Final

import msgspec

from actors.shared.hardware.allocation import ContainerAllocation
from actors.shared.hardware.hints import TopologyHint
from actors.shared.plugins.model import Plugin
from supervision.addresses import ActorName
from supervision.message import Message, Question

DEVICE_MANAGER: Final = ActorName("device_manager")
REGISTRATION: Final = "device plugin registration"
"""The service that is reported as not answering (ServiceState) while no plugin can register."""


# -- devices of containers ---------------------------------------------------------------------------------------------
class DeviceRequest(msgspec.Struct, frozen=True, kw_only=True):
    """The devices that one container requests."""

    uid: str
    """The UID of the pod."""
    container: str
    amounts: dict[str, int]
    """Limits of extended resources."""
    finished: list[str] = []
    """The pod's init containers that have ended by the time that this one runs: it may have their devices."""


class GetDeviceHints(Question["DeviceHints"], frozen=True):
    """Answered with DeviceHints."""

    request: DeviceRequest
    machine: tuple[int, ...] = ()
    """The NUMA nodes of the machine; empty: each node that a plugin reports is one."""


class DeviceHints(Message, frozen=True):
    hints: dict[str, list[TopologyHint] | None]
    """By resource; None: no opinion, []: nothing satisfies the request."""


class ReserveDevices(Question["DevicesReserved | DevicesRefused"], frozen=True, kw_only=True):
    """Set devices aside for AllocateDevices, which may take as long as a plugin does: this asks no plugin. They are
    reserved until then, or until the pod is released. Idempotent."""

    request: DeviceRequest
    mask: int | None = None
    """NUMA nodes to prefer, as bits; None: any."""


class DevicesReserved(Message, frozen=True):
    served: bool
    """Whether a plugin serves, or served, one of the resources: if not, there is nothing to allocate."""


class AllocateDevices(Question["DevicesAllocated | DevicesRefused"], frozen=True, kw_only=True):
    """Idempotent: a container that has its devices keeps them."""

    request: DeviceRequest
    mask: int | None = None
    """NUMA nodes to prefer, as bits; None: any."""
    running: bool = False
    """The pod's containers run: their devices never change."""


class DevicesAllocated(Message, frozen=True):
    allocation: ContainerAllocation
    served: list[str] = []
    """The resources that a plugin serves, or served: if there is any, PrepareDevices is asked, too."""


class DevicesRefused(Message, frozen=True):
    """`message` is the kubelet's."""

    message: str


class PrepareDevices(Question["DevicesAllocated | DevicesRefused"], frozen=True):
    """The container is about to be created. Empty `amounts` in the request ask for the devices that it has."""

    request: DeviceRequest


class ReleaseDevices(Message, frozen=True):
    """The pod has ended, or was not admitted: its devices are free. Does nothing for a pod without devices."""

    uid: str


class GetDevices(Question["Devices"], frozen=True):
    """From pod_resources_server. Answered with Devices."""


class ListedDevices(msgspec.Struct, frozen=True):
    """Devices of one resource on the same NUMA nodes."""

    resource: str
    ids: list[str]
    nodes: list[int] = []


class Devices(Message, frozen=True):
    containers: dict[str, dict[str, list[ListedDevices]]]
    """Held, by pod UID and container."""
    allocatable: list[ListedDevices]
    """Healthy ones, allocated or not."""


# -- resource claims --------------------------------------------------------------------------------------------------
class PrepareClaims(Question["ClaimsPrepared | ClaimsFailed"], frozen=True):
    """From a worker, before it makes a sandbox: have the drivers prepare all claims of the pod. Idempotent."""

    uid: str
    pod: bytes


class ClaimsPrepared(Message, frozen=True):
    uid: str


class ClaimsFailed(Message, frozen=True):
    """It is not done; the worker asks again. The text is the kubelet's."""

    uid: str
    message: str


class GetClaimDevices(Question["ClaimDevices | ClaimsFailed"], frozen=True):
    """From a worker, before it creates a container of a pod with claims."""

    uid: str
    pod: bytes
    container: str


class ClaimDevices(Message, frozen=True):
    """The container's devices by its claims: fully qualified names of CDI devices."""

    uid: str
    container: str
    cdi_devices: list[str]


class UnprepareClaims(Question["ClaimsUnprepared | ClaimsFailed"], frozen=True):
    """From a worker: no container of the pod runs or will run. Idempotent."""

    uid: str


class ClaimsUnprepared(Message, frozen=True):
    uid: str


class GetPodClaims(Question["PodClaims"], frozen=True):
    """From pod_resources_server: all devices that claims have. Answered with PodClaims."""


class ClaimedDevice(msgspec.Struct, frozen=True, kw_only=True):
    """A device of a claim."""

    driver: str
    pool: str
    device: str
    share_id: str | None = None
    requests: list[str] = []
    """The requests of the claim that the device is for; none: all."""
    cdi_devices: list[str] = []


class PodClaim(msgspec.Struct, frozen=True, kw_only=True):
    """A claim that pods of this node use."""

    namespace: str
    name: str
    pods: list[str]
    """UIDs."""
    devices: list[ClaimedDevice]


class PodClaims(Message, frozen=True):
    claims: list[PodClaim]


# -- plugins -----------------------------------------------------------------------------------------------------------
class GetPlugin(Question["PluginAtSocket"], frozen=True):
    """From volume_manager, which serves drivers of volumes: the device manager asks each plugin what it is, once.
    Answered when the plugin was asked."""

    socket: str
    """Path of the registration socket."""


class PluginAtSocket(Message, frozen=True):
    plugin: Plugin | None
    """None: the plugin has not answered, or no socket is there."""
