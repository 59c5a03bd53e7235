"""When a pod that is to run, or does, is to end."""

from __future__ import annotations

import msgspec

from actors.pod_workers.phases.effects import Announce
from actors.pod_workers.phases.termination_reasons import DEADLINE_EXCEEDED, OVERDUE
from actors.pod_workers.pod.phase_transitions import PodWorkerPhase
from actors.shared.kube.names import CONFIG_SEEN
from actors.shared.kube.pod import PodStatus
from tests.support.pod_states import NOW, box, decide, pod, ran, running, wanted


def test_a_pod_ends_once_it_was_active_for_longer_than_its_deadline():
    state = running(pod(activeDeadlineSeconds=60), ran(), boxes=(box(created=NOW - 60),))
    step = decide(state)
    assert (step.state.phase, step.state.reason) == (PodWorkerPhase.TERMINATING, (DEADLINE_EXCEEDED, OVERDUE))
    assert step.effects == (Announce("Normal", DEADLINE_EXCEEDED, OVERDUE),)


def test_until_then_the_pod_worker_is_woken_at_the_deadline():
    step = decide(running(pod(activeDeadlineSeconds=90), ran(), boxes=(box(created=NOW - 60),)))
    assert (step.state.phase, step.state.due) == (PodWorkerPhase.RUNNING, NOW + 30)


def test_a_pod_that_the_api_server_has_as_over_is_not_started_again():
    over = msgspec.structs.replace(pod(), status=PodStatus(phase="Succeeded"))
    assert decide(running(over, ran())).state.phase is PodWorkerPhase.TERMINATING


def test_the_deadline_counts_from_the_start_time_of_the_status_though_there_is_no_sandbox_yet():
    late = msgspec.structs.replace(pod(activeDeadlineSeconds=60), status=PodStatus(startTime="1970-01-12T13:45:00Z"))
    started_at = NOW - 100
    assert decide(wanted(late), now=started_at + 59).state.phase is PodWorkerPhase.ADMITTING
    assert decide(wanted(late), now=started_at + 60).state.phase is PodWorkerPhase.TERMINATING


def test_a_static_pod_whose_manifest_is_older_than_its_deadline_runs():
    static = pod(activeDeadlineSeconds=60)
    metadata = msgspec.structs.replace(static.metadata, annotations={CONFIG_SEEN: "1970-01-02T00:00:00.000000Z"})
    step = decide(wanted(msgspec.structs.replace(static, metadata=metadata)))
    assert (step.state.phase, step.state.due) == (PodWorkerPhase.ADMITTING, NOW + 60)


def test_a_new_sandbox_does_not_begin_the_deadline_again():
    both = (box(1, created=NOW - 1), box(created=NOW - 60))
    started = msgspec.structs.replace(pod(activeDeadlineSeconds=60), status=PodStatus(startTime="1970-01-12T13:45:00Z"))
    assert decide(running(started, ran(), boxes=both[:1]), now=NOW).state.phase is PodWorkerPhase.TERMINATING
    assert decide(running(pod(activeDeadlineSeconds=60), ran(), boxes=both)).state.phase is PodWorkerPhase.TERMINATING


def test_a_sandbox_without_a_creation_time_is_not_past_the_deadline():
    both = (box(1, created=0), box(created=NOW - 1))
    assert decide(running(pod(activeDeadlineSeconds=60), ran(), boxes=both)).state.phase is PodWorkerPhase.RUNNING
