"""The objects of resource claims (resource.k8s.io/v1): those of a pod, and ResourceClaim itself. Data only."""

from __future__ import annotations

from .meta import Api, ObjectMeta


# -- of the pod ------------------------------------------------------------------------------------------------------
class PodResourceClaim(Api, frozen=True):
    """An entry of spec.resourceClaims."""

    name: str = ""
    resourceClaimName: str | None = None
    resourceClaimTemplateName: str | None = None


class PodResourceClaimStatus(Api, frozen=True):
    """An entry of status.resourceClaimStatuses: the claim made from a template."""

    name: str = ""
    resourceClaimName: str | None = None
    """None: no claim is needed."""


class RequestMapping(Api, frozen=True):
    """Maps an extended resource of a container to a request of the claim."""

    containerName: str = ""
    resourceName: str = ""
    requestName: str = ""


class ExtendedClaimStatus(Api, frozen=True):
    """status.extendedResourceClaimStatus: the claim that the scheduler made for extended resources (KEP-5004)."""

    resourceClaimName: str = ""
    requestMappings: list[RequestMapping] = []


# -- of the API ------------------------------------------------------------------------------------------------------
class DeviceRequestAllocationResult(Api, frozen=True):
    """An entry of status.allocation.devices.results."""

    request: str = ""
    driver: str = ""
    pool: str = ""
    device: str = ""
    adminAccess: bool | None = None
    shareID: str | None = None


class DeviceAllocation(Api, frozen=True):
    results: list[DeviceRequestAllocationResult] = []


class Allocation(Api, frozen=True):
    devices: DeviceAllocation = DeviceAllocation()


class Consumer(Api, frozen=True):
    """An entry of status.reservedFor."""

    apiGroup: str = ""
    resource: str = ""
    name: str = ""
    uid: str = ""


class ClaimStatus(Api, frozen=True):
    allocation: Allocation | None = None
    reservedFor: list[Consumer] = []


class ResourceClaim(Api, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    status: ClaimStatus = ClaimStatus()
