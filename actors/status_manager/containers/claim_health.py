"""The health of a container's devices, from resource claims and device plugins, for its status (KEP-4680). Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from actors.shared.kube.codec import ObjectError
from actors.shared.kube.container import Container
from actors.shared.kube.pod import Pod, ResourceHealth, ResourceStatus
from actors.shared.kube.resource_claims import ClaimUse, ResourceClaimError, base_request, claim_uses

from ..messages import ClaimedDeviceHealth

Claims = Mapping[str, Sequence[ClaimedDeviceHealth]]
"""Devices by the name of their claim."""
Devices = Mapping[str, Mapping[str, str]]
"""Health by resource and device of a plugin."""
_CLAIM: Final = "claim:"


def resource_statuses(pod: Pod, container: Container, claims: Claims) -> list[ResourceStatus]:
    """A status for each claim, or request in a claim, that the container names and that has devices."""
    try:
        uses = claim_uses(pod, container, extended=False)
    except (ResourceClaimError, ObjectError):
        return []
    found = [ResourceStatus(name=_name(use), resources=_resources(use, claims.get(use.claim, ()))) for use in uses]
    return [one for one in found if one.resources]


def _name(use: ClaimUse) -> str:
    return f"{_CLAIM}{use.pod_claim}" + (f"/{use.request}" if use.request else "")


def _resources(use: ClaimUse, devices: Sequence[ClaimedDeviceHealth]) -> list[ResourceHealth]:
    """Each resource once: devices may have the same ID."""
    wanted = [one for one in devices if _serves(one, use.request)]
    first = {one.resource_id: one for one in reversed(wanted)}
    return [
        ResourceHealth(resourceID=one.resource_id, health=one.health, message=one.message or None)
        for one in wanted
        if first[one.resource_id] is one
    ]


def _serves(device: ClaimedDeviceHealth, request: str) -> bool:
    return not request or not device.requests or base_request(request) in map(base_request, device.requests)


def is_claim(status: ResourceStatus) -> bool:
    """Whether the status is of a claim, not of a plugin's devices."""
    return status.name.startswith(_CLAIM)


def device_statuses(devices: Devices) -> list[ResourceStatus]:
    """A status for each resource of device plugins."""
    return [
        ResourceStatus(
            name=resource, resources=[ResourceHealth(resourceID=one, health=health) for one, health in states.items()]
        )
        for resource, states in sorted(devices.items())
    ]
