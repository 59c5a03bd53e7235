"""Messages to the device manager, and its answers."""

from __future__ import annotations

from typing import Final

import msgspec

from supervision.addresses import ActorName
from supervision.message import Message, Question

DEVICE_MANAGER: Final = ActorName("device_manager")


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
    """The requests of the claim that it is for; none: all."""
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
