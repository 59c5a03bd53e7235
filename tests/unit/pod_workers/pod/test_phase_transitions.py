"""The life of a pod, as a table."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.pod_workers.pod.phase_transitions import (
    TRANSITIONS,
    IllegalTransition,
    PodWorkerEvent,
    PodWorkerPhase,
    step,
)


def reachable(start: PodWorkerPhase) -> set[PodWorkerPhase]:
    found, todo = {start}, [start]
    while todo:
        for phase in TRANSITIONS[todo.pop()].values():
            if phase not in found:
                found.add(phase)
                todo.append(phase)
    return found


def test_every_phase_is_reached_from_admission_and_leads_to_the_end():
    assert reachable(PodWorkerPhase.ADMITTING) == set(PodWorkerPhase)
    assert all(PodWorkerPhase.FINISHED in reachable(phase) for phase in PodWorkerPhase)


def test_only_the_finished_phase_has_no_transition():
    assert [phase for phase, ways in TRANSITIONS.items() if not ways] == [PodWorkerPhase.FINISHED]


@given(st.lists(st.sampled_from(PodWorkerEvent), max_size=12))
def test_a_pod_that_has_left_never_runs_again(events):
    phase, left = PodWorkerPhase.ADMITTING, False
    for event in events:
        try:
            phase = step(phase, event)
        except IllegalTransition:
            continue
        left = left or phase is PodWorkerPhase.TERMINATING
        assert not (left and phase in (PodWorkerPhase.ADMITTING, PodWorkerPhase.RUNNING))


def test_a_step_that_is_not_in_the_table_names_phase_and_event():
    with pytest.raises(IllegalTransition, match="finished cannot be admitted"):
        step(PodWorkerPhase.FINISHED, PodWorkerEvent.ADMITTED)
