"""Whether a volume is expanded on this node, and what its claim says then."""

from __future__ import annotations

from typing import Any

import pytest

from actors.shared.kube.codec import decode, encode
from actors.shared.kube.persistent_volumes import PersistentVolume, PersistentVolumeClaim
from actors.volume_manager.csi.expansion_plan import (
    NO_NODE_EXPANSION,
    Expansion,
    expansion,
    failed,
    finished,
    may_need,
)

GIB = 1 << 30
MANY = ("ReadWriteMany",)


def claim(
    capacity: str = "1Gi",
    step: str = "",
    *,
    new: bool = True,
    wanted: str = "2Gi",
    modes: tuple[str, ...] = ("ReadWriteOnce",),
    annotations: dict[str, str] | None = None,
    allocated: str = "2Gi",
    **status: Any,
) -> Any:
    """`new`: the cluster's resizer knows the field allocatedResources."""
    found: dict[str, Any] = {"capacity": {"storage": capacity}, **status}
    if step:
        found["allocatedResourceStatuses"] = {"storage": step}
    if new:
        found["allocatedResources"] = {"storage": allocated}
    spec = {"resources": {"requests": {"storage": wanted}}, "accessModes": modes}
    body = {"metadata": {"annotations": annotations or {}}, "spec": spec, "status": found}
    return decode(encode(body), PersistentVolumeClaim)


def volume(capacity: str = "2Gi") -> PersistentVolume:
    return decode(encode({"spec": {"capacity": {"storage": capacity}}}), PersistentVolume)


@pytest.mark.parametrize(
    ("claimed", "here", "expected"),
    [
        (claim(step="NodeResizePending"), GIB, Expansion(size="2Gi")),
        (claim(step="NodeResizeInProgress"), GIB, Expansion(size="2Gi")),
        (claim(step="NodeResizePending"), 2 * GIB, None),
        (claim(step="NodeResizeInfeasible"), GIB, None),
        (claim(step="ControllerResizeInProgress"), GIB, None),
        (claim(), GIB, None),
        (claim(step="NodeResizePending", allocated="1536Mi"), GIB, Expansion(size="1536Mi")),
        (claim("2Gi"), GIB, None),
        (claim("2Gi", modes=MANY), GIB, Expansion(size="2Gi", marks=False, updates_claim=False)),
        (claim("2Gi", modes=MANY, annotations={NO_NODE_EXPANSION: "true"}), GIB, None),
        (claim("2Gi", new=False), GIB, Expansion(size="2Gi", marks=False, updates_claim=False)),
        (claim(new=False), GIB, Expansion(size="2Gi", marks=False)),
    ],
)
def test_a_volume_is_expanded_when_its_claim_waits_for_the_node_or_another_node_has_done_so(
    claimed: PersistentVolumeClaim, here: int, expected: Expansion | None
) -> None:
    assert expansion(claimed, volume(), here) == expected


def test_the_volume_is_read_from_the_server_only_if_its_claim_shows_a_possible_change() -> None:
    waits = {"type": "FileSystemResizePending", "status": "True"}
    assert not may_need(claim(), GIB)
    assert may_need(claim(step="NodeResizePending"), GIB)
    assert may_need(claim(conditions=[waits]), GIB)
    assert may_need(claim("2Gi"), GIB)
    assert not may_need(claim("2Gi"), 2 * GIB)


def test_a_claim_whose_volume_was_expanded_has_its_size_and_no_condition_of_a_resize() -> None:
    other = {"type": "ModifyingVolume", "status": "True", "message": "kept"}
    conditions = [{"type": "FileSystemResizePending", "status": "True"}, other, {"type": "NodeResizeError"}]
    assert finished(claim(conditions=conditions), "2Gi") == {
        "capacity": {"storage": "2Gi"},
        "allocatedResourceStatuses": {"storage": None},
        "conditions": [other],
    }


@pytest.mark.parametrize(
    ("code", "again", "wanted", "step"),
    [
        ("INTERNAL", False, "2Gi", None),
        ("INTERNAL", True, "2Gi", None),
        ("INTERNAL", True, "1Gi", "NodeResizeInfeasible"),
        ("INTERNAL", False, "1Gi", None),
        ("OUT_OF_RANGE", False, "2Gi", "NodeResizeInfeasible"),
        ("FAILED_PRECONDITION", False, "2Gi", None),
    ],
)
def test_a_failed_expansion_is_in_the_claim_as_retryable_or_infeasible(
    code: str, again: bool, wanted: str, step: str | None
) -> None:
    before = {"type": "NodeResizeError", "message": "an older one"}
    given = claim(wanted=wanted, conditions=[before, {"type": "Resizing"}])
    patch = failed(given, Expansion(size="2Gi"), code, "no", "2026-01-01T00:00:00Z", again=again)
    assert patch is not None
    assert patch["conditions"] == [
        {"type": "Resizing"},
        {
            "type": "NodeResizeError",
            "status": "True",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
            "message": "failed to expand pvc with no",
        },
    ]
    assert patch.get("allocatedResourceStatuses") == ({"storage": step} if step else None)


@pytest.mark.parametrize("code", ["", "UNAVAILABLE", "DEADLINE_EXCEEDED", "ABORTED"])
def test_a_claim_is_not_written_while_the_driver_may_be_expanding(code: str) -> None:
    assert failed(claim(), Expansion(size="2Gi"), code, "no", "", again=True) is None
