"""The life of a pod, as a table."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.pod_workers.pod.table import TRANSITIONS, Event, IllegalTransition, Stage, step


def reachable(start: Stage) -> set[Stage]:
    found, todo = {start}, [start]
    while todo:
        for stage in TRANSITIONS[todo.pop()].values():
            if stage not in found:
                found.add(stage)
                todo.append(stage)
    return found


def test_every_stage_is_reached_from_admission_and_leads_to_the_end():
    assert reachable(Stage.ADMITTING) == set(Stage)
    assert all(Stage.FINISHED in reachable(stage) for stage in Stage)


def test_only_a_finished_pod_has_no_way_on():
    assert [stage for stage, ways in TRANSITIONS.items() if not ways] == [Stage.FINISHED]


@given(st.lists(st.sampled_from(Event), max_size=12))
def test_a_pod_that_has_left_never_runs_again(events):
    stage, left = Stage.ADMITTING, False
    for event in events:
        try:
            stage = step(stage, event)
        except IllegalTransition:
            continue
        left = left or stage is Stage.TERMINATING
        assert not (left and stage in (Stage.ADMITTING, Stage.RUNNING))


def test_a_step_that_is_not_in_the_table_names_stage_and_event():
    with pytest.raises(IllegalTransition, match="finished cannot be admitted"):
        step(Stage.FINISHED, Event.ADMITTED)
