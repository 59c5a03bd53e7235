"""The conditions of a pod beside those of other owners, and when each got its value."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from actors.shared.cri.model import PodRuntime, Sandbox
from actors.shared.kube.pod import PodCondition, PodStatus
from actors.status_manager.status.pod_conditions import BY_KUBELET, DISRUPTION
from actors.status_manager.times import time_of_ns
from tests.support.pod_statuses import NEVER, NOW, TWO, S, look, pod_of, ran

LONG_AGO = "2026-01-01T00:00:00Z"
EVICTED: dict[str, Any] = {"worker_phase": "terminated", "reason": "Evicted", "disruption": "d"}


def foreign(kind: str, value: str = "True", reason: str = "Other") -> PodCondition:
    return PodCondition(type=kind, status=value, reason=reason, lastTransitionTime=LONG_AGO)


def disruption(given: list[PodCondition], before: PodStatus | None = None) -> PodCondition:
    """That of an evicted pod whose conditions at the API server are `given`."""
    pod = pod_of(status=PodStatus(conditions=given), generation=7)
    (found,) = [one for one in look(pod, ran(code=1), before=before, **EVICTED).conditions if one.type == DISRUPTION]
    return found


def times(**seen: Any) -> dict[str, str | None]:
    """When each condition of the first status got its value."""
    sandboxes = [
        Sandbox(id=f"s{number}", pod_uid="u", pod_name="p", pod_namespace="n", created_ns=NOW - number * 30 * S)
        for number in (1, 2)
    ]
    containers = [ran(code=0), ran("b", started_ns=NOW - 20 * S)]
    runtime = PodRuntime(uid="u", sandboxes=sandboxes, containers=containers)
    status = look(pod_of({"containers": TWO, **NEVER}), **{"runtime": runtime, **seen})
    assert status.startTime is not None
    return {one.type: one.lastTransitionTime for one in status.conditions} | {"start": status.startTime}


def test_a_rejected_pod_keeps_the_conditions_of_others_and_has_none_of_the_nodes() -> None:
    given = PodStatus(conditions=[foreign("example.com/gate"), foreign("PodScheduled")])
    status = look(pod_of(status=given), worker_phase="rejected", reason="OutOfcpu", runtime=None, disruption="d")
    assert [one.type for one in status.conditions] == ["example.com/gate"]


def test_the_disruption_by_the_node_begins_now_unless_it_was_disrupted_already() -> None:
    now = time_of_ns(NOW)
    others = [foreign("example.com/gate"), foreign(DISRUPTION, "False")]
    assert disruption([]).lastTransitionTime == disruption(others).lastTransitionTime == now
    evicted = disruption([foreign("example.com/gate"), foreign(DISRUPTION, reason="EvictionByEvictionAPI")])
    assert (evicted.reason, evicted.message, evicted.lastTransitionTime) == (BY_KUBELET, "d", LONG_AGO)
    assert evicted.observedGeneration == 7


def test_a_disruption_that_the_node_has_reported_stays_as_it_is() -> None:
    reported = replace(foreign(DISRUPTION, reason=BY_KUBELET), message="of an earlier life")
    other = foreign(DISRUPTION, reason="EvictionByEvictionAPI")
    assert disruption([reported]) == reported
    assert disruption([], PodStatus(conditions=[reported])) == reported
    assert disruption([other], PodStatus(conditions=[reported])) == reported


def test_conditions_of_the_first_status_have_the_times_of_the_runtime() -> None:
    found = times()
    assert found["PodReadyToStartContainers"] == time_of_ns(NOW - 30 * S), "of the newest sandbox"
    ended = time_of_ns(NOW - 9 * S)
    assert (found["Ready"], found["ContainersReady"], found["Initialized"]) == (ended, ended, ended)
    assert found["PodScheduled"] == found["start"]


@pytest.mark.parametrize("runtime", [None, PodRuntime(uid="u")])
def test_conditions_of_a_pod_that_has_nothing_in_the_runtime_began_with_it(runtime: PodRuntime | None) -> None:
    found = times(runtime=runtime)
    assert set(found.values()) == {found["start"]}


def test_a_later_change_has_the_time_of_the_change() -> None:
    before = look(pod_of(), ran())
    after = look(pod_of(), ran(), before=before, ready=False, now=NOW + 5 * S)
    changed = {one.type: one.lastTransitionTime for one in after.conditions}
    unchanged = {one.type: one.lastTransitionTime for one in before.conditions}
    assert changed["Ready"] == changed["ContainersReady"] == time_of_ns(NOW + 5 * S)
    assert {name: changed[name] for name in ("PodScheduled", "Initialized")} == {
        name: unchanged[name] for name in ("PodScheduled", "Initialized")
    }
