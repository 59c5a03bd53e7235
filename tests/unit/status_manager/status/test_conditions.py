"""The conditions of a pod that the node owns, in the kubelet's words."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from actors.shared.kube.pod import ContainerStatus, Pod, PodCondition
from actors.status_manager.messages import Resize
from actors.status_manager.status import resize_conditions
from actors.status_manager.status.conditions import ConditionInput, conditions, with_times

NEVER_SEEN: dict[str, dict[str, Any]] = {}
READY = {"ready": True, "started": True}
UP = {"ready": False, "started": True}
DOWN = {"ready": False, "started": False}
ALL = {"restartPolicyRules": [{"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [1]}}]}
SIDECAR, INIT = {"name": "side", "restartPolicy": "Always"}, {"name": "init"}


def found(
    statuses: dict[str, dict[str, Any]],
    *init: dict[str, Any],
    gates: dict[str, str | None] | None = None,
    regular: dict[str, Any] | None = None,
    **facts: Any,
) -> dict[str, tuple[str, str, str]]:
    """(status, reason, message) of each condition. `gates`: the readiness gates, with the condition's status."""
    names = gates or {}
    spec = {
        "containers": [{"name": "a", **(regular or {})}],
        "initContainers": init,
        "readinessGates": [{"conditionType": name} for name in names],
    }
    known = [{"type": name, "status": status} for name, status in names.items() if status is not None]
    pod = msgspec.convert({"metadata": {"name": "p"}, "spec": spec, "status": {"conditions": known}}, Pod)
    rest = {"state": {}, "lastState": {}, "restartCount": 0, "image": "i", "imageID": ""}
    given = {name: msgspec.convert({"name": name, **rest, **one}, ContainerStatus) for name, one in statuses.items()}
    wanted: dict[str, Any] = {"phase": "Running", "sandbox_ready": True, "initialized": False, **facts}
    return {one.type: (one.status, one.reason, one.message) for one in conditions(ConditionInput(pod, given, **wanted))}


@pytest.mark.parametrize(
    ("gate", "message"),
    [
        (None, 'corresponding condition of pod readiness gate "x/y" does not exist.'),
        ("False", 'the status of pod readiness gate "x/y" is not "True", but False'),
        ("Unknown", 'the status of pod readiness gate "x/y" is not "True", but Unknown'),
        ("True", ""),
    ],
)
def test_a_pod_is_ready_once_the_condition_of_each_readiness_gate_is_true(gate: str | None, message: str) -> None:
    ready = found({"a": READY}, gates={"x/x": "True", "x/y": gate})["Ready"]
    assert ready == (("False", "ReadinessGatesNotReady", message) if message else ("True", "", ""))
    assert found({"a": UP}, gates={"x/y": gate})["Ready"][1] == "ContainersNotReady"


@pytest.mark.parametrize(
    ("statuses", "message"),
    [
        ({"side": READY, "a": READY}, ""),
        ({"side": UP, "a": READY}, "containers with unready status: [side]"),
        ({"side": UP, "a": UP}, "containers with unready status: [side a]"),
        ({"side": UP}, "containers with unknown status: [a], containers with unready status: [side]"),
        (NEVER_SEEN, "containers with unknown status: [side a]"),
    ],
)
def test_containers_and_sidecars_that_are_not_ready_are_named(statuses: dict[str, Any], message: str) -> None:
    all_found = found(statuses, SIDECAR, INIT, initialized=True)
    assert all_found["ContainersReady"] == (("False", "ContainersNotReady", message) if message else ("True", "", ""))
    assert all_found["Ready"] == all_found["ContainersReady"]


@pytest.mark.parametrize(
    ("statuses", "message"),
    [
        ({"side": UP, "init": READY}, ""),
        ({"side": DOWN, "init": READY}, "containers with incomplete status: [side]"),
        ({"side": UP, "init": UP}, "containers with incomplete status: [init]"),
        ({"side": UP}, "containers with unknown status: [init]"),
        (NEVER_SEEN, "containers with unknown status: [side init]"),
    ],
)
def test_a_pod_is_initialized_once_sidecars_have_started_and_init_containers_are_done(
    statuses: dict[str, Any], message: str
) -> None:
    """The status of an init container that has ended with 0 is ready."""
    expected = ("False", "ContainersNotInitialized", message) if message else ("True", "", "")
    assert found(statuses, SIDECAR, INIT)["Initialized"] == expected
    assert found(statuses, SIDECAR, INIT, initialized=True)["Initialized"] == ("True", "", "")


def test_the_conditions_of_a_pod_that_has_ended_say_so() -> None:
    done = found({"a": DOWN, "init": READY}, INIT, phase="Succeeded")
    assert (done["Ready"], done["Initialized"]) == (("False", "PodCompleted", ""), ("True", "PodCompleted", ""))
    assert found({"a": DOWN}, phase="Failed")["ContainersReady"] == ("False", "PodFailed", "")
    unknown = found(NEVER_SEEN, INIT, phase="Succeeded")
    assert unknown["Ready"][1:] == ("ContainersNotReady", "containers with unknown status: [a]")
    assert unknown["Initialized"][1:] == ("ContainersNotInitialized", "containers with unknown status: [init]")


@pytest.mark.parametrize(
    ("phase", "restarting", "expected"),
    [
        ("Running", True, ("True", "RestartAllContainersStarted", "container exited with restart policy rule")),
        ("Running", False, ("False", "", "")),
        ("Succeeded", True, ("False", "PodCompleted", "")),
        ("Failed", False, ("False", "PodFailed", "")),
    ],
)
def test_only_a_pod_that_may_restart_all_its_containers_says_whether_it_does(
    phase: str, restarting: bool, expected: tuple[str, str, str]
) -> None:
    given = found({"a": READY}, regular=ALL, phase=phase, restarting_all=restarting)
    assert given["AllContainersRestarting"] == expected
    assert "AllContainersRestarting" not in found({"a": READY}, phase=phase, restarting_all=restarting)


def test_without_its_gate_the_condition_of_the_sandbox_belongs_to_others() -> None:
    facts = ConditionInput(Pod(), {}, "Running", sandbox_ready=True, initialized=True)
    assert "PodReadyToStartContainers" in facts.owned
    without = msgspec.structs.replace(facts, ready_to_start=False)
    assert facts.owned == ("PodReadyToStartContainers", *without.owned)
    assert [one.type for one in conditions(facts)] == [
        "PodReadyToStartContainers",
        *(c.type for c in conditions(without)),
    ]


def test_the_generation_of_a_condition_does_not_go_back() -> None:
    """A status of an older spec of the pod may be computed after that of a newer one."""
    now = [PodCondition(type="Ready", status="True"), PodCondition(type="X", status="True", observedGeneration=2)]
    before = [PodCondition(type="Ready", status="True", observedGeneration=5, lastTransitionTime="then")]
    ready, other = with_times(now, before, {"X": "now", "Ready": "now"}, 3)
    assert (ready.observedGeneration, ready.lastTransitionTime) == (5, "then")
    assert (other.observedGeneration, other.lastTransitionTime) == (2, "now")
    assert with_times(now[:1], before, {}, 6)[0].observedGeneration == 6


def test_a_resize_has_the_conditions_that_hold() -> None:
    def given(resize: Resize | None) -> list[str]:
        return [one.type for one in resize_conditions.conditions(resize)]

    assert given(None) == given(Resize()) == []
    assert given(Resize(reason="Deferred")) == [resize_conditions.PENDING]
    assert given(Resize(in_progress=True)) == [resize_conditions.IN_PROGRESS]
    assert given(Resize(reason="Deferred", in_progress=True)) == list(resize_conditions.CONDITIONS)


@pytest.mark.parametrize(("kind", "changed"), [("Ready", False), (resize_conditions.PENDING, True)])
def test_another_reason_is_a_change_for_the_conditions_of_a_resize_only(kind: str, changed: bool) -> None:
    one, other = (PodCondition(type=kind, status="True", reason=reason) for reason in ("Deferred", "Infeasible"))
    assert resize_conditions.has_changed(one, other) is changed
    assert resize_conditions.has_changed(one, msgspec.structs.replace(one, status="False"))
