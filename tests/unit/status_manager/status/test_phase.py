"""The phase of a pod, from the statuses of its containers."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from actors.shared.kube.pod import ContainerStatus, Pod
from actors.status_manager.status.phase import pod_phase

RUNS: dict[str, Any] = {"state": {"running": {}}, "started": True}
STARTS: dict[str, Any] = {"state": {"running": {}}, "started": False}
WAITS: dict[str, Any] = {"state": {"waiting": {"reason": "ContainerCreating"}}}
SUCCEEDED: dict[str, Any] = {"state": {"terminated": {"exitCode": 0}}}
FAILED: dict[str, Any] = {"state": {"terminated": {"exitCode": 1}}}
BACKS_OFF: dict[str, Any] = {"state": WAITS["state"], "lastState": FAILED["state"]}
RESTARTS_ALL = {"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [42]}}
SIDECAR = {"name": "side", "restartPolicy": "Always"}


def phase(
    statuses: dict[str, dict[str, Any]],
    init: list[dict[str, str]] | None = None,
    *,
    ended: bool = False,
    initialized: bool = False,
    policy: str = "Always",
    rules: list[dict[str, Any]] | None = None,
) -> str:
    """Of a pod with the containers a and b; `rules`: the restart rules of a."""
    regular = [{"name": "a", "restartPolicyRules": rules or []}, {"name": "b"}]
    spec = {"containers": regular, "initContainers": init or [], "restartPolicy": policy}
    pod = msgspec.convert({"metadata": {"name": "p"}, "spec": spec}, Pod)
    rest = {"lastState": {}, "ready": False, "restartCount": 0, "image": "i", "imageID": ""}
    found = {
        name: msgspec.convert({"name": name, **rest, **status}, ContainerStatus) for name, status in statuses.items()
    }
    return pod_phase(pod, found, ended=ended, initialized=initialized)


@pytest.mark.parametrize(
    ("side", "initialized", "expected"),
    [
        (None, False, "Pending"),
        (WAITS, False, "Pending"),
        ({**WAITS, "started": True}, False, "Pending"),
        (STARTS, False, "Pending"),
        (RUNS, False, "Running"),
        (FAILED, False, "Running"),
        (STARTS, True, "Running"),
    ],
)
def test_a_pod_is_pending_until_its_sidecar_has_started_once(
    side: dict[str, Any] | None, initialized: bool, expected: str
) -> None:
    statuses = {"a": RUNS, "b": RUNS} | ({"side": side} if side is not None else {})
    assert phase(statuses, [SIDECAR], initialized=initialized) == expected


@pytest.mark.parametrize("other", [WAITS, None])
def test_a_pod_is_pending_while_one_container_has_not_started(other: dict[str, Any] | None) -> None:
    statuses = {"a": RUNS} | ({"b": other} if other is not None else {})
    assert phase(statuses) == "Pending"
    assert phase({**statuses, "a": FAILED}, policy="Never", ended=True) == "Pending"


@pytest.mark.parametrize(
    ("init", "policy", "expected"),
    [(None, "Always", "Pending"), (SUCCEEDED, "Always", "Running"), (FAILED, "Always", "Pending"),
     (FAILED, "Never", "Failed")],
)  # fmt: skip
def test_an_init_container_keeps_the_pod_pending_until_it_succeeds_and_fails_it_where_it_is_not_tried_again(
    init: dict[str, Any] | None, policy: str, expected: str
) -> None:
    statuses = {"a": RUNS, "b": RUNS} | ({"i": init} if init is not None else {})
    assert phase(statuses, [{"name": "i"}], policy=policy) == expected


@pytest.mark.parametrize(("other", "expected"), [(SUCCEEDED, "Succeeded"), (FAILED, "Failed"), (RUNS, "Running")])
def test_a_pod_succeeds_once_all_containers_have_and_fails_if_one_has_not(other: dict[str, Any], expected: str) -> None:
    assert phase({"a": SUCCEEDED, "b": other}, policy="Never") == expected


def test_a_pod_whose_containers_have_ended_runs_as_long_as_its_sidecar_does() -> None:
    ended = {"a": SUCCEEDED, "b": FAILED}
    for side in (RUNS, STARTS):
        assert phase({**ended, "side": side}, [SIDECAR], policy="Never", initialized=True) == "Running"
    for stopped in ({}, {"side": SUCCEEDED}, {"side": BACKS_OFF}):
        assert phase({**ended, **stopped}, [SIDECAR], policy="Never", initialized=True) == "Failed"


@pytest.mark.parametrize(
    ("policy", "one", "other", "expected"),
    [
        ("Always", SUCCEEDED, SUCCEEDED, "Running"),
        ("Always", BACKS_OFF, FAILED, "Running"),
        ("OnFailure", SUCCEEDED, SUCCEEDED, "Succeeded"),
        ("OnFailure", SUCCEEDED, BACKS_OFF, "Running"),
        ("Never", BACKS_OFF, SUCCEEDED, "Failed"),
    ],
)
def test_a_pod_runs_while_its_policy_restarts_an_ended_container(
    policy: str, one: dict[str, Any], other: dict[str, Any], expected: str
) -> None:
    assert phase({"a": one, "b": other}, policy=policy) == expected


def test_only_a_container_that_waits_is_restarted_with_all_others() -> None:
    """Under a policy that lets it end (KEP-5532)."""
    waits = {"state": WAITS["state"], "lastState": SUCCEEDED["state"]}
    assert phase({"a": FAILED, "b": SUCCEEDED}, policy="Never", rules=[RESTARTS_ALL]) == "Failed"
    assert phase({"a": FAILED, "b": waits}, policy="Never", rules=[RESTARTS_ALL]) == "Running"
    assert phase({"a": RUNS, "b": RUNS, "i": FAILED}, [{"name": "i"}], policy="Never", rules=[RESTARTS_ALL]) == "Failed"
    init = {"a": RUNS, "b": RUNS, "i": BACKS_OFF}
    assert phase(init, [{"name": "i"}], policy="Never", rules=[RESTARTS_ALL]) == "Pending"
    assert phase(init, [{"name": "i"}], policy="Never") == "Failed"


def test_a_pod_without_containers_is_pending() -> None:
    assert pod_phase(Pod(), {}, ended=True, initialized=False) == "Pending"
