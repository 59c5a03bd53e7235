"""Which pods a node under pressure refuses."""

from __future__ import annotations

from typing import Any

import pytest

from actors.shared.admission.checks.node_conditions import (
    DISK_PRESSURE,
    MEMORY_PRESSURE,
    PID_PRESSURE,
    node_condition,
    resize_under_pressure,
)
from actors.shared.admission.request import Demand, NodeState, PodAdmitAttributes, Refusal, demand_of
from actors.shared.kube.codec import decode_pod, encode

TOLERATED = [{"key": "node.kubernetes.io/memory-pressure", "operator": "Exists", "effect": "NoSchedule"}]


def candidate(request: str = "", annotations: dict[str, str] | None = None, **spec: Any) -> PodAdmitAttributes:
    containers = [{"name": "c", "resources": {"requests": {"memory": request}} if request else {}}]
    metadata = {"name": "p", "annotations": annotations or {}}
    pod = decode_pod(encode({"metadata": metadata, "spec": {"containers": containers, **spec}}))
    return PodAdmitAttributes(pod, demand_of("u", pod))


def check(pod: PodAdmitAttributes, *conditions: str) -> Refusal | None:
    return node_condition(pod, NodeState(allocatable={}, conditions=frozenset(conditions)))


@pytest.mark.parametrize(
    ("conditions", "pod", "refused"),
    [
        ([], candidate(), False),
        ([MEMORY_PRESSURE], candidate(), True),
        ([MEMORY_PRESSURE], candidate("1Mi"), False),
        ([MEMORY_PRESSURE], candidate(tolerations=TOLERATED), False),
        ([MEMORY_PRESSURE], candidate(tolerations=[{"operator": "Exists"}]), False),
        ([MEMORY_PRESSURE], candidate(tolerations=[{"key": TOLERATED[0]["key"]}]), False),
        ([MEMORY_PRESSURE], candidate(tolerations=[{"key": TOLERATED[0]["key"], "value": "true"}]), True),
        ([MEMORY_PRESSURE], candidate(tolerations=[{"key": "other", "operator": "Exists"}]), True),
        ([DISK_PRESSURE], candidate(tolerations=TOLERATED), True),
        ([MEMORY_PRESSURE], candidate(tolerations=[{**TOLERATED[0], "effect": "NoExecute"}]), True),
        ([DISK_PRESSURE], candidate("1Mi"), True),
        ([MEMORY_PRESSURE, PID_PRESSURE], candidate("1Mi"), True),
        ([MEMORY_PRESSURE, DISK_PRESSURE, PID_PRESSURE], candidate(priority=2000000000), False),
        ([DISK_PRESSURE], candidate(annotations={"kubernetes.io/config.source": "file"}), False),
    ],
)
def test_memory_pressure_alone_keeps_away_best_effort_pods_and_the_others_all_but_critical_ones(
    conditions: list[str], pod: PodAdmitAttributes, refused: bool
) -> None:
    assert (check(pod, *conditions) is not None) is refused


@pytest.mark.parametrize(
    ("conditions", "critical", "refused"),
    [
        ([], False, False),
        ([MEMORY_PRESSURE], False, False),
        ([MEMORY_PRESSURE, PID_PRESSURE], False, True),
        ([DISK_PRESSURE], False, True),
        ([DISK_PRESSURE], True, False),
    ],
)
def test_a_resize_waits_under_any_pressure_but_that_of_memory(
    conditions: list[str], critical: bool, refused: bool
) -> None:
    demand = Demand("u", {"cpu": 1}, frozenset(), "Burstable", critical=critical)
    found = resize_under_pressure(demand, NodeState(allocatable={}, conditions=frozenset(conditions)))
    assert (found is not None) is refused


def test_a_refusal_names_the_conditions_as_the_kubelet_does() -> None:
    text = "The node had condition: [MemoryPressure PIDPressure]. "
    assert check(candidate(), PID_PRESSURE, MEMORY_PRESSURE) == Refusal("Evicted", text)
