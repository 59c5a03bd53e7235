"""Conditions: words, order, and above all transition times."""

from __future__ import annotations

from typing import Any

import pytest

from actors.api_clients.heartbeat_client.node_status.conditions import (
    ConditionChange,
    find,
    is_ready,
    joined,
    with_pressure,
    with_ready,
)

EARLIER, NOW = "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"
PRESSURES = [
    ("memory", "MemoryPressure", "KubeletHasInsufficientMemory", "kubelet has insufficient memory available"),
    ("disk", "DiskPressure", "KubeletHasDiskPressure", "kubelet has disk pressure"),
    ("pids", "PIDPressure", "KubeletHasInsufficientPID", "kubelet has insufficient PID available"),
]


def condition(kind: str, status: str, reason: str = "r") -> dict[str, str]:
    return {
        "type": kind,
        "status": status,
        "reason": reason,
        "message": "m",
        "lastHeartbeatTime": EARLIER,
        "lastTransitionTime": EARLIER,
    }


def test_a_new_node_gets_all_four_conditions_in_the_kubelets_order():
    made: list[dict[str, Any]] = []
    for kind in ("memory", "disk", "pids"):
        made, _ = with_pressure(made, kind, False, NOW)
    made, _ = with_ready(made, [], NOW)
    assert [one["type"] for one in made] == ["MemoryPressure", "DiskPressure", "PIDPressure", "Ready"]
    assert [one["status"] for one in made] == ["False", "False", "False", "True"]
    assert made[3]["message"] == "kubelet is posting ready status"


@pytest.mark.parametrize(("kind", "type_", "reason", "message"), PRESSURES)
def test_pressure_that_begins_has_the_kubelets_message_and_is_an_event(kind, type_, reason, message):
    before, first = with_pressure([], kind, False, EARLIER)
    after, events = with_pressure(before, kind, True, NOW)
    assert after == [
        {
            "type": type_,
            "status": "True",
            "reason": reason,
            "message": message,
            "lastHeartbeatTime": NOW,
            "lastTransitionTime": NOW,
        }
    ]
    assert len(first) == len(events) == 1
    assert first != events


@pytest.mark.parametrize("told", [True, None])
def test_pressure_that_continues_or_is_unknown_keeps_its_time_and_message(told):
    after, events = with_pressure([condition("MemoryPressure", "True")], "memory", told, NOW)
    assert after == [condition("MemoryPressure", "True") | {"lastHeartbeatTime": NOW}]
    assert events == []


def test_a_condition_that_the_control_plane_set_to_unknown_is_taken_back():
    after, events = with_pressure([condition("DiskPressure", "Unknown")], "disk", None, NOW)
    assert (after[0]["status"], after[0]["lastTransitionTime"]) == ("False", NOW)
    assert events == [ConditionChange("NodeHasNoDiskPressure")]


@pytest.mark.parametrize("status", ["True", "False", "Unknown"])
def test_ready_stays_as_the_api_has_it_while_nothing_is_known(status):
    after, events = with_ready([condition("Ready", status)], None, NOW)
    assert after == [condition("Ready", status) | {"lastHeartbeatTime": NOW}]
    assert events == []


def test_a_new_node_of_which_nothing_is_known_is_not_ready():
    (made,), events = with_ready([], None, NOW)
    assert (made["status"], made["reason"]) == ("False", "KubeletNotReady")
    assert made["message"] == "container runtime status check may not have completed yet"
    assert events == []


def test_a_ready_condition_that_turns_false_and_true_has_two_events_and_two_transitions():
    gone, first = with_ready([condition("Ready", "True")], ["container runtime is down"], NOW)
    assert (gone[0]["status"], gone[0]["lastTransitionTime"], first) == (
        "False",
        NOW,
        [ConditionChange("NodeNotReady")],
    )
    other, none = with_ready(gone, ["another"], "2026-01-03T00:00:00Z")
    assert (other[0]["message"], other[0]["lastTransitionTime"], none) == ("another", NOW, [])
    back, last = with_ready(other, [], "2026-01-04T00:00:00Z")
    assert (back[0]["status"], last) == ("True", [ConditionChange("NodeReady")])


def test_conditions_of_others_stay_in_their_places():
    others = [
        condition("NetworkUnavailable", "False"),
        condition("Ready", "True"),
        condition("KernelDeadlock", "False"),
    ]
    after, _ = with_ready(others, [], NOW)
    assert [one["type"] for one in after] == ["NetworkUnavailable", "Ready", "KernelDeadlock"]
    assert find(after, "NetworkUnavailable") == others[0]
    assert others[1]["lastHeartbeatTime"] == EARLIER


def test_errors_are_joined_as_go_joins_them():
    assert joined(["a"]) == "a"
    assert joined(["a", "b", "a"]) == "[a, b]"


@pytest.mark.parametrize(
    ("node", "ready"),
    [
        ({"status": {"conditions": [{"type": "Ready", "status": "True"}]}}, True),
        ({"status": {"conditions": [{"type": "Ready", "status": "Unknown"}]}}, False),
        ({"status": {"conditions": [{"type": "DiskPressure", "status": "True"}]}}, False),
        ({"status": {"conditions": None}}, False),
        ({"status": None}, False),
        ({}, False),
    ],
)
def test_a_node_is_ready_by_its_condition_alone(node: dict[str, Any], ready: bool) -> None:
    assert is_ready(node) is ready
