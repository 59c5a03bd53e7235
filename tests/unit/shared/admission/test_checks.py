"""The list of admission checks: its order is the reference's, and the first refusal counts."""

from __future__ import annotations

import pytest

from actors.shared.admission.checks import conflict, refusal
from actors.shared.admission.node_conditions import DISK_PRESSURE
from actors.shared.admission.request import Candidate, Demand, NodeState, Usage
from actors.shared.kube.pod import HostPort, Pod

PORT = ("", 80, "TCP")
POD = Candidate(Pod(), Demand("u", {"cpu": 2}, frozenset({PORT}), "BestEffort"))
FREE = NodeState(allocatable={"pods": 1, "cpu": 2})
IN_ORDER = [
    ("Evicted", {"conditions": frozenset({DISK_PRESSURE})}),
    ("OutOfcpu", {"usage": Usage(requests={"cpu": 1}, ports=frozenset({PORT}))}),
    ("NodePorts", {"usage": Usage(ports=frozenset({PORT}))}),
    ("NodeShutdown", {"shutting_down": True}),
]


def reason(state: dict[str, object]) -> str:
    fields = {name: getattr(FREE, name) for name in FREE.__struct_fields__}
    found = refusal(POD, NodeState(**{**fields, **state}))
    return found.reason if found is not None else ""


def test_a_pod_that_no_check_refuses_is_admitted() -> None:
    assert reason({}) == ""


def test_of_several_refusals_the_one_that_the_reference_finds_first_counts() -> None:
    state: dict[str, object] = {}
    for expected, wrong in reversed(IN_ORDER):
        assert reason(wrong) == expected
        state |= wrong
        assert reason(state) == expected


@pytest.mark.parametrize(
    ("one", "other", "clash"),
    [
        (("", 80, "TCP"), ("", 80, "TCP"), True),
        (("", 80, "TCP"), ("", 80, "UDP"), False),
        (("", 80, "TCP"), ("", 81, "TCP"), False),
        (("10.0.0.1", 80, "TCP"), ("10.0.0.2", 80, "TCP"), False),
        (("10.0.0.1", 80, "TCP"), ("0.0.0.0", 80, "TCP"), True),
        (("", 80, "TCP"), ("10.0.0.2", 80, "TCP"), True),
    ],
)
def test_ports_clash_on_the_same_address_or_on_any(one: HostPort, other: HostPort, clash: bool) -> None:
    assert conflict(one, other) == conflict(other, one) == clash
