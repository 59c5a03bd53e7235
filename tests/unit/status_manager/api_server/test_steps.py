"""What is done next at the API server, and what a pod is after each report."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from actors.shared.cri.model import PodRuntime
from actors.shared.kube.names import CONFIG_HASH, CONFIG_MIRROR, CONFIG_SOURCE
from actors.shared.kube.pod import PodStatus
from actors.status_manager.api_server.backlog import CHANGE, TRANSITION
from actors.status_manager.api_server.steps import CreateMirror, DeletePod, PatchStatus, next_step
from actors.status_manager.api_server.stuck_pods import REASONS, Reported, due, overdue, waits_for
from actors.status_manager.messages import PodObserved
from actors.status_manager.pods.api_pods import ApiPod, read
from actors.status_manager.pods.pod_table import PodTable
from actors.status_manager.pods.tracked_pod import TrackedPod, last_status, reported, tracked, with_base
from tests.support.present import present

DELETED = "2026-01-01T00:00:00Z"
STATIC = {CONFIG_SOURCE: "file", CONFIG_HASH: "h1"}


def pod(phase: str | None = "Running", *, uid: str = "u", static: bool = False, **seen: Any) -> TrackedPod:
    meta = {"uid": uid, "name": "p", "namespace": "n", "annotations": STATIC if static else {}}
    data = json.dumps({"metadata": meta, "spec": {"containers": [{"name": "a"}]}}).encode()
    report = PodObserved(uid, data, **{"worker_phase": "running", **seen})
    status = PodStatus(phase=phase) if phase else None
    return msgspec.structs.replace(tracked(report, 1.0), status=status, has_base=True)


def stored(phase: str = "Running", *, uid: str = "u", hash: str = "", **meta: Any) -> ApiPod:
    annotations = {CONFIG_MIRROR: hash} if hash else {}
    whole = {"uid": uid, "name": "p", "namespace": "n", "resourceVersion": "1", "annotations": annotations, **meta}
    return read(json.dumps({"metadata": whole, "status": {"phase": phase}}).encode())


def table(*objects: ApiPod, pods: tuple[TrackedPod, ...] = (), synced: bool = True) -> PodTable:
    found = PodTable()
    if synced:
        found.api.replace(objects)
    for each in pods:
        found.put(each)
    return found


FINISHED: dict[str, Any] = {"worker_phase": "terminated", "finished": True}


@pytest.mark.parametrize(
    ("objects", "of", "step"),
    [
        ([stored()], pod(), None),
        ([stored("Pending")], pod(), PatchStatus),
        ([], pod(), None),
        ([stored("Failed", deletionTimestamp=DELETED)], pod("Failed", **FINISHED), DeletePod),
        ([stored("Running", deletionTimestamp=DELETED)], pod("Failed", **FINISHED), PatchStatus),
        ([stored("Failed", deletionTimestamp=DELETED)], pod("Failed"), None),
        ([stored("Failed")], pod("Failed", **FINISHED), None),
        ([], pod(static=True), CreateMirror),
        ([stored(uid="m", hash="h1")], pod(static=True), None),
        ([stored(uid="m", hash="h0")], pod(static=True), DeletePod),
        ([], pod(static=True, removed=True), None),
        ([], pod(static=True, worker_phase="terminating"), None),
    ],
)
def test_the_next_step_follows_from_both_sides(objects, of, step):
    found = next_step(table(*objects, pods=(of,)), "u")
    assert (found if step is None else type(found)) == step


@pytest.mark.parametrize(("has_base", "phase"), [(False, "Running"), (True, None)])
def test_nothing_is_written_without_a_status_or_before_its_base(has_base, phase):
    of = msgspec.structs.replace(pod(phase), has_base=has_base)
    assert next_step(table(stored("Pending"), pods=(of,)), "u") is None


def test_a_change_of_phase_and_the_last_write_of_a_deleted_pod_come_first():
    def priority(of: TrackedPod, **meta: Any) -> int:
        step = next_step(table(stored(**meta), pods=(of,)), "u")
        assert step is not None
        return step.priority

    message = PodStatus(phase="Running", message="m")
    assert priority(pod("Failed")) == TRANSITION
    assert priority(msgspec.structs.replace(pod(), status=message)) == CHANGE
    gone = msgspec.structs.replace(pod("Failed", **FINISHED), status=PodStatus(phase="Failed", message="m"))
    assert priority(gone, phase="Failed", deletionTimestamp=DELETED) == TRANSITION
    assert priority(gone, phase="Failed") == CHANGE


def test_nothing_is_done_before_the_server_has_listed_its_pods():
    assert next_step(table(pods=(pod(static=True),), synced=False), "u") is None


def test_a_mirror_without_a_static_pod_at_two_looks_is_deleted():
    found = table(stored(uid="m", hash="h1"))
    found.find_orphans()
    assert next_step(found, "m") is None
    found.find_orphans()
    assert isinstance(next_step(found, "m"), DeletePod)
    found.put(pod(static=True))
    assert next_step(found, "m") is None


def test_an_accepted_deletion_is_repeated_only_after_a_while():
    left = stored("Failed", deletionTimestamp=DELETED, finalizers=["x"])
    found = table(left, pods=(pod("Failed", **FINISHED),))
    found.accept_deletion(left, left)
    assert next_step(found, "u") is None
    found.forget_deletions()
    assert isinstance(next_step(found, "u"), DeletePod)


def test_a_status_that_the_server_stores_differently_is_not_written_again():
    found = table(stored("Pending"), pods=(pod(),))
    step = next_step(found, "u")
    assert isinstance(step, PatchStatus)
    found.server_altered("u", step.fields)
    assert next_step(found, "u") is None


def test_a_status_continues_its_base_once():
    first = msgspec.structs.replace(pod(None), has_base=False)
    based = with_base(first, stored("Running"))
    assert (based.has_base, present(based.status).phase) == (True, "Running")
    assert with_base(based, stored("Failed")) is based


def test_each_newer_version_is_the_base_until_the_runtime_is_read():
    first = msgspec.structs.replace(pod(None), has_base=False)
    unread = msgspec.structs.replace(first, observed=msgspec.structs.replace(first.observed, runtime=None))
    based = with_base(unread, stored("Pending", resourceVersion="1"))
    assert present(with_base(based, stored("Running", resourceVersion="2")).status).phase == "Running"
    read = msgspec.structs.replace(based, observed=msgspec.structs.replace(based.observed, runtime=PodRuntime(uid="u")))
    assert with_base(read, stored("Running", resourceVersion="2")) is read
    assert with_base(based, stored("Running", resourceVersion="1")) is based


def test_an_old_mirror_of_a_static_pod_that_runs_again_is_no_base():
    again = msgspec.structs.replace(pod(None, static=True), has_base=False)
    assert with_base(again, stored("Failed", uid="m", hash="h1")).has_base is False


def test_a_final_phase_written_by_others_stays():
    assert present(last_status(pod("Running"), stored("Failed"))).phase == "Failed"
    assert present(last_status(pod("Succeeded"), stored("Failed"))).phase == "Succeeded"
    assert present(last_status(pod("Running", static=True), stored("Failed"))).phase == "Running"


def test_a_report_without_a_pod_keeps_the_last_one():
    before = pod()
    after = present(reported(before, PodObserved("u", b"", "terminating", removed=True)))
    assert (after.pod is before.pod, after.observed.worker_phase, after.observed.removed) == (True, "terminating", True)


@pytest.mark.parametrize(
    ("seen", "finalizers", "reason"),
    [
        ({}, [], "worker"),
        ({"termination_step": "volumes", "last_error": "busy"}, [], "volumes"),
        (FINISHED, ["x"], "finalizers"),
        (FINISHED, [], "api"),
    ],
)
def test_a_pod_that_does_not_end_reports_what_it_waits_for(seen, finalizers, reason):
    ending = stored("Failed", deletionTimestamp=DELETED, finalizers=finalizers)
    assert waits_for(pod("Failed", **seen), ending)[0] == reason
    assert reason in REASONS


def test_a_stuck_pod_is_reported_at_once_then_on_change_and_then_each_five_minutes():
    found = table(stored("Running", deletionTimestamp=DELETED), pods=(pod(),))
    started_at = 1767225600.0
    assert overdue(found, started_at + 59) == []
    said: list[float] = []
    reported_: Reported = {}
    for late in (61.0, 100.0, 300.0, 362.0, 400.0):
        now, reported_ = due(overdue(found, started_at + late), reported_, started_at + late)
        said += [late] * len(now)
    assert said == [61.0, 362.0]
    found.put(pod("Failed", **FINISHED))
    assert [each.reason for each in due(overdue(found, started_at + 401), reported_, started_at + 401)[0]] == ["status"]


def test_every_stuck_pod_is_found_among_those_that_are_not():
    late, soon = "2026-01-01T00:00:00Z", "2026-01-01T00:06:00Z"
    found = table(
        stored(uid="runs"),
        stored(uid="late", deletionTimestamp=late),
        stored(uid="soon", deletionTimestamp=soon),
        stored(uid="late too", deletionTimestamp=late),
    )
    late_ones = {one.pod.uid: one.seconds for one in overdue(found, 1767225600.0 + 400)}
    assert late_ones == {"late": 400.0, "late too": 400.0}


def test_a_pod_that_waits_for_a_server_that_is_back_has_a_minute_before_it_is_stuck():
    found = table(stored("Running", deletionTimestamp=DELETED), pods=(pod("Failed", **FINISHED),))
    began = 1767225600.0
    said: list[float] = []
    reported_: Reported = {}
    for late, away in ((61.0, True), (500.0, True), (510.0, False), (559.0, False), (561.0, False), (600.0, False)):
        now, reported_ = due(overdue(found, began + late), reported_, began + late, server_away=away)
        said += [late] * len(now)
    assert said == [561.0]


def test_a_mirror_is_never_stuck_whatever_its_static_pod_does():
    mirror = stored("Running", hash="h1", deletionTimestamp=DELETED)
    assert mirror.is_mirror
    assert overdue(table(mirror, pods=(pod(),)), 1767225600.0 + 400) == []
