"""Whether a volume is expanded on this node, and the resulting claim status (KEP-284, KEP-1790). Pure."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from actors.shared.kube.persistent_volumes import PersistentVolume, PersistentVolumeClaim
from actors.shared.kube.quantity import quantity_value

STORAGE: Final = "storage"
PENDING, IN_PROGRESS, INFEASIBLE = "NodeResizePending", "NodeResizeInProgress", "NodeResizeInfeasible"
FILE_SYSTEM_PENDING: Final = "FileSystemResizePending"
NODE_ERROR: Final = "NodeResizeError"
RESIZE_CONDITIONS: Final = frozenset({FILE_SYSTEM_PENDING, "Resizing", "ControllerResizeError", NODE_ERROR})
NO_NODE_EXPANSION: Final = "volume.kubernetes.io/node-expansion-not-required"
"""The controller's annotation of a claim whose volume grows without the nodes."""
IN_USE: Final = "FAILED_PRECONDITION"
"""The driver's answer for a volume that it does not expand while in use."""
INFEASIBLE_CODES: Final = frozenset({"INVALID_ARGUMENT", "OUT_OF_RANGE", "NOT_FOUND"})
NON_FINAL_CODES: Final = frozenset(
    {"", "CANCELLED", "DEADLINE_EXCEEDED", "UNAVAILABLE", "RESOURCE_EXHAUSTED", "ABORTED"}
)
"""The driver may still be expanding it."""


class Expansion(msgspec.Struct, frozen=True, kw_only=True):
    size: str
    """A quantity, as the PersistentVolume has it."""
    marks: bool = True
    """The claim's status shows that the expansion is in progress: the cluster's resizer sets this field, too."""
    updates_claim: bool = True
    """False: the claim's status has the size already, because another node has expanded the volume."""


def size_of_claim(claim: PersistentVolumeClaim) -> int:
    """Bytes."""
    return quantity_value(claim.status.capacity.get(STORAGE, 0))


def may_need(claim: PersistentVolumeClaim, size_here: int) -> bool:
    """Whether the PersistentVolume may have grown. `size_here`: bytes, as of the last expansion on this node."""
    status = claim.status
    return (
        status.allocatedResourceStatuses.get(STORAGE) in (PENDING, IN_PROGRESS)
        or any(one.get("type") == FILE_SYSTEM_PENDING and one.get("status") == "True" for one in status.conditions)
        or size_of_claim(claim) > size_here
    )


def expansion(claim: PersistentVolumeClaim, volume: PersistentVolume, size_here: int) -> Expansion | None:
    """None: the volume stays as it is (the kubelet's NodeExpander.runPreCheck). Other nodes may have expanded a volume
    that the claim's status shows as expanded: each node of a ReadWriteMany volume does so. Without allocatedResources
    the controller is an older one, which does not report whether the nodes must expand the volume."""
    size = volume.spec.capacity.get(STORAGE, 0)
    if quantity_value(size) <= size_here:
        return None
    size = claim.status.allocatedResources.get(STORAGE, size)
    step = claim.status.allocatedResourceStatuses.get(STORAGE, "")
    if size_of_claim(claim) >= quantity_value(size) and not step:
        is_shared = "ReadWriteMany" in claim.spec.accessModes and NO_NODE_EXPANSION not in claim.metadata.annotations
        if claim.status.allocatedResources and not is_shared:
            return None
        return Expansion(size=str(size), marks=False, updates_claim=False)
    if step in (PENDING, IN_PROGRESS):
        return Expansion(size=str(size))
    if not step and not claim.status.allocatedResources:
        return Expansion(size=str(size), marks=False)
    return None


def in_progress() -> dict[str, Any]:
    """The claim's status, as a merge patch."""
    return {"allocatedResourceStatuses": {STORAGE: IN_PROGRESS}}


def finished(claim: PersistentVolumeClaim, size: str) -> dict[str, Any]:
    """The claim's status, as a merge patch."""
    left = [one for one in claim.status.conditions if one.get("type") not in RESIZE_CONDITIONS]
    return {"capacity": {STORAGE: size}, "allocatedResourceStatuses": {STORAGE: None}, "conditions": left}


def failed(
    claim: PersistentVolumeClaim, expansion: Expansion, code: str, text: str, now: str, *, again: bool
) -> dict[str, Any] | None:
    """The claim's status, as a merge patch; None while the driver may still be expanding it.

    `again`: it failed before. A size that the claim no longer requests is then infeasible, and the controller reverts
    it.
    """
    if code in NON_FINAL_CODES:
        return None
    condition = {
        "type": NODE_ERROR,
        "status": "True",
        "lastTransitionTime": now,
        "message": f"failed to expand pvc with {text}",
    }
    others = [one for one in claim.status.conditions if one.get("type") != NODE_ERROR]
    patch: dict[str, Any] = {"conditions": [*others, condition]}
    wanted = quantity_value(claim.spec.resources.requests.get(STORAGE, 0))
    if code in INFEASIBLE_CODES or (again and wanted != quantity_value(expansion.size)):
        patch["allocatedResourceStatuses"] = {STORAGE: INFEASIBLE}
    return patch
