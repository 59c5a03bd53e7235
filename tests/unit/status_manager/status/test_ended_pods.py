"""The status of a pod that ends: phase, reason and conditions, and what is kept of its containers."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from actors.shared.cri.model import PodRuntime
from actors.shared.kube.pod import PodCondition, PodStatus
from tests.support.pod_statuses import INIT, NEVER, NOW, S, look, of, pod_of, ran
from tests.support.present import present

TWO_INIT = {"initContainers": [{"name": "i", "image": "x"}, {"name": "j", "image": "x"}, {"name": "k", "image": "x"}]}


def test_a_pod_that_ends_keeps_its_addresses():
    before = look(pod_of(), ran())
    gone = PodRuntime(uid="u")
    after = look(pod_of(), worker_phase="terminated", runtime=gone, before=before)
    assert [each.ip for each in after.podIPs] == ["10.1.0.2"]


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        ({"worker_phase": "terminated", "reason": "Evicted", "disruption": "d"}, ("TerminationByKubelet", "d")),
        ({"worker_phase": "terminated", "reason": "Evicted", "message": "over its limit"}, None),
        ({"worker_phase": "terminated", "reason": "Terminated", "disruption": "d"}, ("TerminationByKubelet", "d")),
        ({"worker_phase": "terminated", "reason": "DeadlineExceeded"}, None),
        ({"worker_phase": "terminating", "reason": "Evicted", "disruption": "d"}, None),
        ({"worker_phase": "rejected", "reason": "Evicted", "runtime": None}, None),
    ],
)
def test_a_pod_that_the_node_ends_for_its_own_reasons_is_marked_as_disrupted(seen, expected):
    status = look(pod_of(), *([] if seen["worker_phase"] == "rejected" else [ran(code=1)]), **seen)
    found = [(c.reason, c.message) for c in status.conditions if c.type == "DisruptionTarget"]
    assert found == ([expected] if expected else [])
    again = look(pod_of(), ran(code=1), before=status, now=NOW + 60 * S, **{**seen, "runtime": PodRuntime(uid="u")})
    assert [c for c in again.conditions if c.type == "DisruptionTarget"] == [
        c for c in status.conditions if c.type == "DisruptionTarget"
    ]


def test_the_node_that_ends_a_pod_says_so_in_the_place_of_who_disrupted_it_before():
    """The time of the condition stays, because its value does."""
    since, kind = "2026-01-01T00:00:00Z", "DisruptionTarget"
    earlier = PodCondition(type=kind, status="True", reason="EvictionByEvictionAPI", lastTransitionTime=since)
    api = PodStatus(conditions=[earlier])
    order: dict[str, Any] = {"reason": "Evicted", "disruption": "d"}
    ending = look(pod_of(status=api), ran(), worker_phase="terminating", **order)
    assert of(ending, kind) == ("True", "EvictionByEvictionAPI")
    ended = look(pod_of(status=api), ran(code=1), before=ending, worker_phase="terminated", **order)
    again = look(pod_of(status=api), ran(code=1), before=ended, worker_phase="terminated", **order)
    for status in (ended, again):
        (found,) = [one for one in status.conditions if one.type == kind]
        assert (found.reason, found.message, found.lastTransitionTime) == ("TerminationByKubelet", "d", since)


def test_the_end_of_a_container_outlives_its_removal_from_the_runtime():
    before = look(pod_of(NEVER), ran(code=3, message="m"), worker_phase="terminated")
    after = look(pod_of(NEVER), before=before, worker_phase="terminated", runtime=PodRuntime(uid="u"))
    assert after.containerStatuses == before.containerStatuses


def test_the_reason_of_an_end_comes_with_the_end():
    before = look(pod_of(), ran())
    ending = look(pod_of(), ran(), before=before, worker_phase="terminating", reason="DeadlineExceeded", message="m")
    assert (ending.phase, ending.reason) == ("Running", "")
    ended = look(
        pod_of(), ran(code=1), before=ending, worker_phase="terminated", reason="DeadlineExceeded", message="m"
    )
    assert (ended.phase, ended.reason, ended.message) == ("Failed", "DeadlineExceeded", "m")


def test_a_removed_static_pod_keeps_its_last_phase():
    pod = pod_of(annotations={"kubernetes.io/config.source": "file"})
    pending, running = look(pod), look(pod, ran())
    assert look(pod, worker_phase="terminated", before=pending).phase == "Pending"
    assert look(pod, ran(code=137), worker_phase="terminated", before=running).phase == "Running"


def test_the_reason_stays_while_the_phase_stays():
    before = look(pod_of(), worker_phase="rejected", runtime=None, reason="OutOfcpu", message="not enough")
    after = look(pod_of(), worker_phase="rejected", runtime=None, before=before)
    assert (after.reason, after.message) == ("OutOfcpu", "not enough")


def test_a_rejected_pod_has_neither_addresses_nor_resources():
    pod = pod_of({"hostNetwork": True, "resources": {"requests": {"cpu": "1"}}})
    status = look(pod, worker_phase="rejected", runtime=None, reason="OutOfcpu", message="not enough")
    assert (status.hostIP, status.hostIPs, status.podIP, status.podIPs) == ("", [], "", [])
    assert (status.resources, status.allocatedResources, status.containerStatuses) == (None, {}, [])
    assert (status.phase, status.reason, status.message) == ("Failed", "OutOfcpu", "not enough")
    assert status.startTime
    assert status.qosClass == "Burstable"


def test_a_container_that_never_started_still_waits_when_the_pod_has_ended():
    over = look(
        pod_of({**TWO_INIT, **NEVER}), ran("i", code=0), ran("j", code=1), worker_phase="terminated", waiting={}
    )
    assert over.phase == "Failed"
    assert [one.state.terminated and one.state.terminated.exitCode for one in over.initContainerStatuses] == [
        0,
        1,
        None,
    ]
    assert present(over.initContainerStatuses[2].state.waiting).reason == "PodInitializing"
    assert present(over.containerStatuses[0].state.waiting).reason == "PodInitializing"
    assert of(over, "Initialized") == ("False", "ContainersNotInitialized")


def test_a_container_that_should_have_started_has_an_unknown_end_when_the_pod_has_ended():
    told = look(pod_of(INIT), ran("i", code=0))
    over = look(pod_of(INIT, told), ran("i", code=0), worker_phase="terminated")
    ended = present(over.containerStatuses[0].state.terminated)
    assert (over.phase, ended.exitCode, ended.reason) == ("Failed", 137, "ContainerStatusUnknown")
    never = look(pod_of(TWO_INIT), worker_phase="terminated")
    assert [one.state.terminated is not None for one in never.initContainerStatuses] == [True, False, False]


def test_an_init_container_that_completes_as_the_pod_is_stopped_makes_no_other_one_lost():
    told = look(pod_of(INIT), ran("i"))
    over = look(pod_of(INIT, told), ran("i", code=0), worker_phase="terminated", before=told)
    assert present(over.containerStatuses[0].state.waiting).reason == "PodInitializing"
    assert look(pod_of(INIT, over), ran("i", code=0), worker_phase="terminated", before=over) == over


def test_a_pod_deleted_before_its_containers_started_has_failed_and_is_not_ready():
    deleted = pod_of()
    deleted = replace(deleted, metadata=replace(deleted.metadata, deletionTimestamp="2026-01-01T00:00:00Z"))
    over = look(deleted, worker_phase="terminated")
    assert (over.phase, of(over, "Ready")) == ("Failed", ("False", "ContainersNotReady"))
    assert look(deleted, worker_phase="terminated", before=over) == over


def test_the_conditions_of_a_deleted_pod_whose_init_containers_never_began_stay_as_they_are():
    init = [{"name": name, "image": "i"} for name in ("i", "j")]
    spec = {"restartPolicy": "Never", "initContainers": init}
    deleted = pod_of(spec)
    deleted = replace(deleted, metadata=replace(deleted.metadata, deletionTimestamp="2026-01-01T00:00:00Z"))
    over = look(deleted, worker_phase="terminated", before=look(pod_of(spec)))
    assert (over.phase, of(over, "Ready")) == ("Failed", ("False", "ContainersNotReady"))
    assert look(deleted, worker_phase="terminated", before=over) == over


def test_a_pod_that_lost_its_sandbox_before_its_containers_began_has_failed_in_phase_and_conditions():
    over = look(pod_of(NEVER), worker_phase="terminated")
    assert (over.phase, of(over, "Ready")) == ("Failed", ("False", "PodFailed"))
    assert of(over, "ContainersReady") == ("False", "PodFailed")
    assert look(pod_of(NEVER), worker_phase="terminated", before=over) == over


@pytest.mark.parametrize(
    ("spec", "code", "seen", "reasons"),
    [
        (NEVER, 0, {}, ["PodCompleted", "PodCompleted", "PodCompleted"]),
        (NEVER, 1, {}, ["", "PodFailed", "PodFailed"]),
        (NEVER, 1, {"worker_phase": "terminating"}, ["", "PodFailed", "PodFailed"]),
        ({}, None, {"worker_phase": "terminating", "reason": "DeadlineExceeded"}, ["", "PodFailed", "PodFailed"]),
        ({}, None, {"worker_phase": "terminating", "reason": "Evicted"}, ["", "", ""]),
        ({}, 1, {"worker_phase": "terminating"}, ["", "ContainersNotReady", "ContainersNotReady"]),
    ],
)
def test_the_conditions_of_a_pod_show_its_end_before_its_phase_may(spec, code, seen, reasons):
    before = look(pod_of(spec), ran())
    status = look(pod_of(spec), ran(code=code), before=before, **seen)
    assert status.phase == "Running"
    assert [of(status, kind)[1] for kind in ("Initialized", "Ready", "ContainersReady")] == reasons


def test_a_pod_ended_by_the_node_has_succeeded_if_its_containers_exit_with_0_and_is_marked_as_disrupted():
    """As a kubelet 1.36 says of pods that it preempts or evicts."""
    order: dict[str, Any] = {
        "reason": "Preempting",
        "message": "Preempted in order to admit critical pod",
        "disruption": "d",
    }
    before = look(pod_of(), ran())
    ending = look(pod_of(), ran(), before=before, worker_phase="terminating", **order)
    assert (ending.phase, ending.reason) == ("Running", "")
    ended = look(pod_of(), ran(code=0), before=ending, worker_phase="terminated", **order)
    assert (ended.phase, ended.reason, ended.message) == ("Succeeded", "", "")
    assert of(ended, "DisruptionTarget") == ("True", "TerminationByKubelet")
    assert of(ended, "Ready") == ("False", "PodCompleted")
