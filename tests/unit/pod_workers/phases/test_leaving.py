"""When a pod that is to run, or does, is to end."""

from __future__ import annotations

import msgspec

from actors.pod_workers.phases.effects import Announce
from actors.pod_workers.phases.leaving import DEADLINE_EXCEEDED, OVERDUE
from actors.pod_workers.pod.table import Phase
from actors.shared.kube.pod import PodStatus
from tests.support.pod_states import NOW, box, decide, pod, ran, running


def test_a_pod_ends_once_it_was_active_for_longer_than_its_deadline():
    state = running(pod(activeDeadlineSeconds=60), ran(), boxes=(box(created=NOW - 60),))
    step = decide(state)
    assert (step.state.phase, step.state.reason) == (Phase.TERMINATING, (DEADLINE_EXCEEDED, OVERDUE))
    assert step.effects == (Announce("Normal", DEADLINE_EXCEEDED, OVERDUE),)


def test_until_then_the_pod_worker_is_woken_at_the_deadline():
    step = decide(running(pod(activeDeadlineSeconds=90), ran(), boxes=(box(created=NOW - 60),)))
    assert (step.state.phase, step.state.due) == (Phase.RUNNING, NOW + 30)


def test_a_pod_that_the_api_server_has_as_over_is_not_started_again():
    over = msgspec.structs.replace(pod(), status=PodStatus(phase="Succeeded"))
    assert decide(running(over, ran())).state.phase is Phase.TERMINATING
