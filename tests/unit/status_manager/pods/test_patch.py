"""What is written of a status: owned fields that differ, nothing else."""

from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.shared.kube import codec
from actors.shared.kube.pod import PodStatus
from actors.status_manager.pods.api_pods import ApiPods, read
from actors.status_manager.pods.patch import OWNED_CONDITIONS, body, is_transition, status_patch
from actors.status_manager.status.resize_conditions import CONDITIONS as RESIZE
from tests.support.apiserver.patches import STRATEGIC, patched
from tests.support.present import present

THEN, NOW = "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"


def status(**fields: object) -> PodStatus:
    return codec.decode(json.dumps(fields).encode(), PodStatus)


def condition(kind: str, value: str = "True", **more: object) -> dict[str, object]:
    return {"type": kind, "status": value, "lastTransitionTime": NOW, **more}


def container(**more: object) -> dict[str, object]:
    return {"name": "a", "state": {"running": {"startedAt": NOW}}, "lastState": {}, "ready": True, "restartCount": 0,
            "image": "i", "imageID": "s", **more}  # fmt: skip


@pytest.mark.parametrize(
    ("ours", "server_status", "patch"),
    [
        ({"phase": "Running"}, {"phase": "Running"}, {}),
        ({"phase": "Running"}, {"phase": "Pending", "qosClass": "Burstable"}, {"phase": "Running"}),
        ({"phase": "Running"}, {"phase": "Failed", "reason": "NodeLost", "message": "m"}, {}),
        ({"phase": "Failed", "reason": "Evicted"}, {"phase": "Running"}, {"phase": "Failed", "reason": "Evicted"}),
        ({"phase": "Pending"}, {"phase": "Pending", "message": "old"}, {"message": None}),
        ({"startTime": NOW}, {}, {"startTime": NOW}),
        ({"startTime": NOW}, {"startTime": THEN}, {}),
        ({"observedGeneration": 3}, {"observedGeneration": 2}, {"observedGeneration": 3}),
        ({"observedGeneration": 2}, {"observedGeneration": 3}, {}),
        ({"qosClass": "Burstable"}, {"qosClass": "BestEffort"}, {}),
        ({"podIPs": [{"ip": "1"}]}, {}, {"podIPs": [{"ip": "1"}]}),
        (
            {"podIPs": [{"ip": "1"}, {"ip": "2"}]}, {"podIPs": [{"ip": "2"}]},
            {"podIPs": [{"$patch": "replace"}, {"ip": "1"}, {"ip": "2"}]},
        ),
        ({}, {"podIP": "1", "podIPs": [{"ip": "1"}]}, {"podIP": None, "podIPs": None}),
        ({"containerStatuses": [container()]}, {"containerStatuses": [container()]}, {}),
        (
            {"containerStatuses": [container()]}, {"containerStatuses": [container(ready=False)]},
            {"containerStatuses": [container()]},
        ),
        ({}, {"nominatedNodeName": "x", "resourceClaimStatuses": [{"name": "c"}], "resize": "Proposed"}, {}),
        ({"allocatedResources": {"cpu": "1"}}, {}, {"allocatedResources": {"cpu": "1"}}),
        (
            {"resources": {"limits": {"cpu": "2"}}},
            {"resources": {"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "1"}}},
            {"resources": {"limits": {"cpu": "2", "memory": None}, "requests": None}},
        ),
        ({}, {"resources": {"limits": {"cpu": "1"}}, "allocatedResources": {"cpu": "1"}},
         {"resources": None, "allocatedResources": None}),
        ({}, {"conditions": [condition("example.com/mine")]}, {}),
        ({"conditions": [condition("example.com/mine")]}, {}, {}),
        (
            {}, {"conditions": [condition("PodScheduled"), condition("DisruptionTarget")]},
            {"conditions": [{"$patch": "delete", "type": "PodScheduled"}]},
        ),
        (
            {"conditions": [condition("Ready"), condition("PodScheduled")]}, {"conditions": [condition("Ready")]},
            {"conditions": [condition("PodScheduled")]},
        ),
        (
            {"conditions": [condition("Ready", reason="b")]},
            {"conditions": [condition("Ready", reason="a", lastTransitionTime=THEN, observedGeneration=4)]},
            {"conditions": [condition("Ready", reason="b", lastTransitionTime=THEN, observedGeneration=4)]},
        ),
        (
            {"conditions": [condition("Ready")]},
            {"conditions": [condition("Ready", "False", reason="ContainersNotReady", message="m")]},
            {"conditions": [condition("Ready", reason=None, message=None)]},
        ),
        (
            {"conditions": [condition("Ready", "False")]},
            {"conditions": [condition("Ready", lastTransitionTime=THEN)]},
            {"conditions": [condition("Ready", "False")]},
        ),
        ({"conditions": [condition("Ready")]}, {"conditions": [condition("Ready", lastTransitionTime=THEN)]}, {}),
    ],
)  # fmt: skip
def test_a_patch_has_what_is_ours_and_differs(ours, server_status, patch):
    assert status_patch(status(**ours), status(**server_status)) == patch


@pytest.mark.parametrize(
    ("fields", "ready", "expected"),
    [
        ({"phase": "Running"}, None, True),
        ({"conditions": [condition("Ready")]}, None, True),
        ({"conditions": [condition("Ready")]}, "False", True),
        ({"conditions": [condition("Ready", "False")]}, "True", True),
        ({"conditions": [condition("Ready", "False")]}, None, False),
        ({"conditions": [condition("Ready", "False", reason="other")]}, "False", False),
        ({"conditions": [condition("Initialized")]}, None, False),
        ({"containerStatuses": []}, "True", False),
    ],
)
def test_changes_of_phase_and_readiness_are_transitions(fields, ready, expected):
    server_status = status(conditions=[condition("Ready", ready)] if ready else [])
    assert is_transition(fields, server_status) is expected


WAITING: dict[str, object] = {"state": {"waiting": {"reason": "ContainerCreating"}}}
ENDED: dict[str, object] = {"state": {"terminated": {"exitCode": 0}}}
AGAIN: dict[str, object] = {"restartCount": 1}


@pytest.mark.parametrize(
    ("kind", "before", "now", "expected"),
    [
        ("initContainerStatuses", WAITING, {}, True),
        ("initContainerStatuses", {}, ENDED, True),
        ("ephemeralContainerStatuses", WAITING, {}, True),
        ("ephemeralContainerStatuses", None, {}, True),
        ("ephemeralContainerStatuses", None, WAITING, False),
        ("containerStatuses", WAITING, {}, False),
        ("containerStatuses", WAITING, ENDED, True),
        ("containerStatuses", {}, ENDED, True),
        ("containerStatuses", {}, WAITING, True),
        ("containerStatuses", {}, AGAIN, True),
        ("containerStatuses", {**WAITING, **AGAIN}, AGAIN, False),
        ("containerStatuses", {}, {"image": "j"}, False),
    ],
)
def test_a_step_of_a_container_that_the_next_one_may_hide_is_a_transition(kind, before, now, expected):
    server_status = status(**{kind: [container(**before)] if before is not None else []})
    fields = status_patch(status(**{kind: [container(**now)]}), server_status)
    assert fields
    assert is_transition(fields, server_status) is expected


def test_an_end_that_nothing_follows_is_left_to_the_phase():
    before = status(containerStatuses=[container()])
    fields = status_patch(status(containerStatuses=[container(**ENDED)]), before)
    assert [is_transition(fields, before, once=once) for once in (False, True)] == [True, False]


@pytest.mark.parametrize("kind", RESIZE)
def test_a_resize_that_begins_or_ends_is_a_transition(kind):
    idle, resizing = status(conditions=[]), status(conditions=[condition(kind)])
    assert is_transition(status_patch(resizing, idle), idle)
    assert is_transition(status_patch(idle, resizing), resizing)


def test_the_body_names_the_pod_and_when_exact_its_version():
    pod = read(b'{"metadata": {"uid": "u", "name": "p", "namespace": "n", "resourceVersion": "7"}}')
    assert json.loads(body(pod, {"phase": "Failed"}, exact=True)) == {
        "metadata": {"uid": "u", "resourceVersion": "7"},
        "status": {"phase": "Failed"},
    }
    assert json.loads(body(pod, {}, exact=False))["metadata"] == {"uid": "u"}


def test_a_finished_resize_removes_its_condition():
    pending = condition("PodResizePending", reason="Infeasible")
    server_status = status(conditions=[pending, condition("example.com/a")])
    gone = {"$patch": "delete", "type": "PodResizePending"}
    assert status_patch(status(conditions=[]), server_status) == {"conditions": [gone]}
    assert status_patch(server_status, server_status) == {}


conditions = st.lists(
    st.builds(
        condition,
        st.sampled_from([*sorted(OWNED_CONDITIONS), "example.com/a"]),
        st.sampled_from(["True", "False"]),
        reason=st.sampled_from(["", "a", "b"]),
        observedGeneration=st.integers(1, 3),
        lastTransitionTime=st.sampled_from([THEN, NOW]),
    ),
    max_size=4,
    unique_by=lambda each: each["type"],
)
ips = st.lists(st.sampled_from(["1", "2"]), max_size=2, unique=True)
statuses = st.fixed_dictionaries({
    "phase": st.sampled_from(["Pending", "Running", "Succeeded", "Failed"]),
    "reason": st.sampled_from(["", "Evicted"]),
    "conditions": conditions,
    "podIPs": ips.map(lambda found: [{"ip": ip} for ip in found]),
    "startTime": st.sampled_from([None, THEN, NOW]),
    "observedGeneration": st.integers(1, 3),
    "containerStatuses": st.lists(st.builds(container, restartCount=st.integers(0, 2)), max_size=1),
})  # fmt: skip


@given(statuses, statuses)
def test_one_write_suffices_and_keeps_fields_of_others(ours, server_status):
    whole = {"metadata": {"name": "p", "namespace": "n", "uid": "u", "resourceVersion": "1"}, "status": server_status}
    before, mine = status(**server_status), status(**ours)
    patch = body(read(msgspec.json.encode(whole)), status_patch(mine, before), exact=True)
    after = read(msgspec.json.encode(patched("Pod", STRATEGIC, whole, patch))).status
    assert status_patch(mine, after) == {}
    assert [c for c in after.conditions if c.type == "example.com/a"] == [
        c for c in before.conditions if c.type == "example.com/a"
    ]
    assert before.phase not in ("Succeeded", "Failed") or after.phase == before.phase
    assert before.startTime in (None, after.startTime)
    assert after.observedGeneration >= before.observedGeneration
    known = {c.type: c for c in before.conditions}
    for each in after.conditions:
        old = known.get(each.type)
        same = old is not None and old.status == each.status and (each.type not in RESIZE or old.reason == each.reason)
        assert old is None or not same or old.lastTransitionTime == each.lastTransitionTime


def versioned(version: str, uid: str = "u", **more: object) -> bytes:
    meta = {"uid": uid, "name": uid, "namespace": "n", "resourceVersion": version, **more}
    return msgspec.json.encode({"metadata": meta})


def test_an_older_version_never_replaces_a_newer_one():
    pods = ApiPods()
    assert pods.put(read(versioned("10")))
    assert not pods.put(read(versioned("9")))
    assert not pods.put(read(versioned("10")))
    assert pods.put(read(versioned("11")))


def test_a_full_list_reports_new_and_removed_pods():
    pods = ApiPods()
    assert pods.replace([read(versioned("1", "a")), read(versioned("2", "b"))]) == {"a", "b"}
    assert pods.replace([read(versioned("1", "a")), read(versioned("3", "c"))]) == {"b", "c"}
    assert pods.get("b") is None


def test_a_full_list_counts_also_with_lower_versions():
    pods = ApiPods()
    pods.replace([read(versioned("10", "a")), read(versioned("2", "b"))])
    assert pods.replace([read(versioned("9", "a")), read(versioned("2", "b"))]) == {"a"}
    assert pods.put(read(versioned("10", "a")))


def test_an_answer_with_a_lower_version_counts_unless_the_watch_changed_meanwhile():
    pods = ApiPods()
    pods.put(read(versioned("10")))
    before = pods.get("u")
    assert pods.put(read(versioned("5")), before)
    assert not pods.put(read(versioned("4")), before)


def test_mirrors_are_found_by_name():
    pods = ApiPods()
    pods.put(read(versioned("1", "m", annotations={"kubernetes.io/config.mirror": "h"})))
    assert present(pods.mirror("m_n")).mirror_hash == "h"
    pods.drop("m")
    assert pods.mirror("m_n") is None
