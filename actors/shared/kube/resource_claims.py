"""The resource claims of a pod and its containers, and whether the pod may use them (KEP-4381). Pure.

The error texts are the kubelet's.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, TypeVar

import msgspec
from msgspec.structs import replace

from supervision.errors import UNREADABLE

from .codec import ObjectError, without_nulls
from .container import Container
from .meta import Quantity
from .pod import Pod
from .quantity import QuantityError, parse
from .resource_claim_objects import (
    Allocation,
    ExtendedClaimStatus,
    PodResourceClaim,
    PodResourceClaimStatus,
    ResourceClaim,
)

CLAIMS: Final = "/apis/resource.k8s.io/v1"
_NOT_CREATED: Final = "ResourceClaim not created yet"
_UNSUPPORTED: Final = "none of the supported fields are set"

T = TypeVar("T")


class ResourceClaimError(Exception):
    """A claim cannot be used now; the text has the reason. `damaged`: the path of the file of all claims if it is to be
    deleted."""

    def __init__(self, text: str, damaged: str = "") -> None:
        super().__init__(text)
        self.damaged = damaged


class ClaimName(msgspec.Struct, frozen=True):
    """A claim that a pod has."""

    pod_claim: str
    """The pod's name for it; '' for the claim of its extended resources."""
    name: str
    """The name of the ResourceClaim object, in the pod's namespace."""
    made_for_pod: bool = False
    """It was made from a template: the pod must own it."""


def pod_claims(pod: Pod) -> list[PodResourceClaim]:
    """spec.resourceClaims. Raises ObjectError."""
    return _list(pod.spec.resourceClaims, PodResourceClaim, "spec.resourceClaims")


def extended_claim(pod: Pod) -> ExtendedClaimStatus | None:
    """status.extendedResourceClaimStatus. Raises ObjectError."""
    where = "status.extendedResourceClaimStatus"
    return _decode(pod.status.extendedResourceClaimStatus, ExtendedClaimStatus, where)


def has_claims(pod: Pod) -> bool:
    """Whether the pod has any claim, of any kind."""
    return _is_given(pod.spec.resourceClaims) or has_extended_claim(pod)


def has_extended_claim(pod: Pod) -> bool:
    """Whether a claim provides extended resources of the pod."""
    return _is_given(pod.status.extendedResourceClaimStatus)


def without_claimed(pod: Pod) -> Pod:
    """The pod without the requests and limits of extended resources that a claim provides: neither a device plugin nor
    the node's allocatable has to provide these. Raises ObjectError."""
    special = extended_claim(pod)
    if special is None:
        return pod
    claimed = {(one.containerName, one.resourceName) for one in special.requestMappings}

    def less(container: Container) -> Container:
        def left(amounts: dict[str, Quantity]) -> dict[str, Quantity]:
            return {name: value for name, value in amounts.items() if (container.name, name) not in claimed}

        given = container.resources
        return replace(container, resources=replace(given, requests=left(given.requests), limits=left(given.limits)))

    spec = pod.spec
    containers, init = [less(one) for one in spec.containers], [less(one) for one in spec.initContainers]
    return replace(pod, spec=replace(spec, containers=containers, initContainers=init))


def _is_given(raw: msgspec.Raw) -> bool:
    return bytes(raw) not in (b"", b"[]", b"null", b"{}")


def claim_names(pod: Pod, *, extended: bool) -> list[ClaimName]:
    """The claims that the pod needs. `extended`: include the claim of its extended resources.

    Raises ResourceClaimError for one that is not made yet, ObjectError.
    """
    statuses = _list(pod.status.resourceClaimStatuses, PodResourceClaimStatus, "status.resourceClaimStatuses")
    found = [name for claim in pod_claims(pod) if (name := _claim_name(pod, claim, statuses)) is not None]
    special = extended_claim(pod) if extended else None
    if special is not None:
        found.append(ClaimName("", special.resourceClaimName))
    return found


def _claim_name(pod: Pod, claim: PodResourceClaim, statuses: list[PodResourceClaimStatus]) -> ClaimName | None:
    """None: no claim is needed. Raises ResourceClaimError."""
    meta = pod.metadata
    whole = f'pod "{meta.namespace}/{meta.name}"'
    if claim.resourceClaimName is not None:
        return ClaimName(claim.name, claim.resourceClaimName)
    if claim.resourceClaimTemplateName is None:
        raise ResourceClaimError(f'{whole}, spec.resourceClaim "{claim.name}": {_UNSUPPORTED}')
    for status in statuses:
        if status.name == claim.name:
            made = status.resourceClaimName
            return ClaimName(claim.name, made, made_for_pod=True) if made is not None else None
    raise ResourceClaimError(f"{whole}: {_NOT_CREATED}")


class ClaimUse(msgspec.Struct, frozen=True):
    """A claim, or a request of it, that a container uses."""

    claim: str
    """Name of the ResourceClaim object."""
    request: str = ""
    """A request of the claim; '' for all."""
    pod_claim: str = ""
    """The pod's name for the claim; '' for the claim of its extended resources."""


def claim_uses(pod: Pod, container: Container, *, extended: bool) -> list[ClaimUse]:
    """The claims that the container uses, in the pod's order, then the claim of its extended resources.

    Raises ResourceClaimError, ObjectError.
    """
    if not container.resources.claims and not (extended and container.resources.requests):
        return []
    names = {one.pod_claim: one.name for one in claim_names(pod, extended=False)}
    found = [
        ClaimUse(name, use.request, pod_claim)
        for pod_claim, name in names.items()
        for use in container.resources.claims
        if use.name == pod_claim
    ]
    special = extended_claim(pod) if extended else None
    if special is not None:
        found += [ClaimUse(special.resourceClaimName, request) for request in _mapped_requests(container, special)]
    return found


def _mapped_requests(container: Container, status: ExtendedClaimStatus) -> Iterator[str]:
    """The claim's requests for the container's extended resources."""
    for mapping in status.requestMappings:
        amount = container.resources.requests.get(mapping.resourceName, 0)
        if mapping.containerName == container.name and _positive(amount):
            yield mapping.requestName


def _positive(amount: str | float) -> bool:
    try:
        return parse(amount) > 0
    except QuantityError:
        return False


def base_request(request: str) -> str:
    """The request of a subrequest `request/subrequest`."""
    return request.partition("/")[0]


def check_claim(pod: Pod, wanted: ClaimName, claim: ResourceClaim) -> Allocation:
    """Its allocation, if the pod may use the claim now. Raises ResourceClaimError."""
    meta, of = claim.metadata, pod.metadata
    if wanted.made_for_pod and not any(owner.controller and owner.uid == of.uid for owner in meta.ownerReferences):
        whole = f"ResourceClaim {meta.namespace}/{meta.name}"
        raise ResourceClaimError(f"{whole} was not created for pod {of.namespace}/{of.name} (pod is not owner)")
    if all(consumer.uid != of.uid for consumer in claim.status.reservedFor):
        text = f"pod {of.name} ({of.uid}) is not allowed to use ResourceClaim {wanted.name} ({meta.uid})"
        raise ResourceClaimError(text)
    if claim.status.allocation is None:
        raise ResourceClaimError(f"ResourceClaim {meta.name}: not allocated")
    return claim.status.allocation


def _list(raw: msgspec.Raw, kind: type[T], where: str) -> list[T]:
    return _decode(raw, list[kind], where) or []  # type: ignore[valid-type]


def _decode(raw: msgspec.Raw, kind: type[T], where: str) -> T | None:
    """Raises ObjectError."""
    if not _is_given(raw):
        return None
    try:
        return msgspec.convert(without_nulls(msgspec.json.decode(raw)), kind)
    except UNREADABLE as error:
        raise ObjectError(f"{where}: {error}") from None
