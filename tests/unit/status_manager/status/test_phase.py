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
SIDECAR = {"name": "side", "restartPolicy": "Always"}


def phase(
    statuses: dict[str, dict[str, Any]],
    init: list[dict[str, str]] | None = None,
    *,
    ended: bool = False,
    initialized: bool = False,
    policy: str = "Always",
) -> str:
    """Of a pod with the containers a and b."""
    spec = {"containers": [{"name": "a"}, {"name": "b"}], "initContainers": init or [], "restartPolicy": policy}
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
