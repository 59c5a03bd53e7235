"""Pauses between restarts."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.shared.cri.crash_loop import (
    is_delayed_after_kill,
    next_consecutive_restarts,
    pause_after,
    start_not_before,
)
from actors.shared.cri.model import CriContainer, CriContainerState
from actors.shared.kube.names import CONTAINER_RESTARTS_IN_A_ROW

NOW = 1500.0


def dead(count: int, ran_seconds: float = 1.0, ended: float = 1000.0, consecutive: int | None = None) -> CriContainer:
    annotations = {"io.kubernetes.container.restartCount": str(count)}
    if consecutive is not None:
        annotations[CONTAINER_RESTARTS_IN_A_ROW] = str(consecutive)
    return CriContainer(
        id=str(count),
        name="a",
        pod_uid="u",
        state=CriContainerState.EXITED,
        started_ns=int((ended - ran_seconds) * 1e9),
        finished_ns=int(ended * 1e9),
        annotations=annotations,
    )


@pytest.mark.parametrize(
    ("count", "pause"), [(0, 0), (1, 10), (2, 20), (3, 40), (4, 80), (5, 160), (6, 300), (7, 300), (500, 300)]
)
def test_the_first_restart_is_at_once_then_ten_seconds_doubling(count, pause):
    assert pause_after(count, 300.0) == pause


@pytest.mark.parametrize(("ended", "delayed"), [(1000.0, True), (1009.0, True), (1010.0, False), (2000.0, False)])
def test_after_a_kill_the_pause_counts_from_the_end_before(ended, delayed):
    killed = dead(2, ended=ended, consecutive=1)
    assert is_delayed_after_kill(killed, dead(1, ended=1000.0), 300.0) is delayed


@pytest.mark.parametrize(("count", "delayed"), [(0, False), (1, True)])
def test_without_a_known_end_before_only_the_first_instance_is_not_delayed_after_a_kill(count, delayed):
    assert is_delayed_after_kill(dead(count), None, 300.0) is delayed


def test_a_lower_maximum_lowers_the_first_pause_too():
    assert [pause_after(count, 3.0) for count in (1, 2)] == [3.0, 3.0]


def test_the_pause_counts_from_the_end_of_the_last_run():
    assert start_not_before(dead(2), 300.0, NOW) == 1020.0


def test_after_a_long_run_there_is_no_backoff():
    long = dead(9, ran_seconds=601, consecutive=6)
    assert start_not_before(long, 300.0, NOW) == 0.0
    assert next_consecutive_restarts(long) == 1
    assert next_consecutive_restarts(dead(9, ran_seconds=600, consecutive=6)) == 7


def test_a_container_with_another_image_or_other_resources_counts_its_restarts_from_the_first():
    assert next_consecutive_restarts(dead(9, consecutive=6), changed=True) == 1


def test_a_container_that_could_not_be_started_counts_from_its_creation():
    """It has no times of a run."""
    created = msgspec.structs.replace(dead(2), started_ns=0, finished_ns=0, created_ns=int(990 * 1e9))
    assert start_not_before(created, 300.0, NOW) == 1010.0
    lost = msgspec.structs.replace(dead(2), started_ns=0)
    assert start_not_before(lost, 300.0, NOW) == 1020.0, "how long it ran is not known"


def test_the_pause_depends_on_consecutive_restarts_only():
    assert start_not_before(dead(9, consecutive=1), 300.0, NOW) == 1010.0
    assert next_consecutive_restarts(dead(9, consecutive=1)) == 2


def test_without_our_annotation_the_restart_count_is_used():
    assert next_consecutive_restarts(dead(4)) == 5


def test_a_container_that_never_ended_has_no_backoff():
    assert start_not_before(None, 300.0, NOW) == 0.0
    running = msgspec.structs.replace(dead(2), state=CriContainerState.RUNNING)
    assert start_not_before(running, 300.0, NOW) == 0.0


@given(st.integers(0, 10**6), st.floats(0.1, 300))
def test_a_pause_is_never_over_the_maximum(count, maximum):
    assert 0 <= pause_after(count, maximum) <= maximum


def test_a_container_that_ended_in_the_future_has_no_backoff():
    assert start_not_before(dead(9), 300.0, 1000.0) == start_not_before(dead(9), 300.0, 995.0) == 1300.0
    assert start_not_before(dead(9), 300.0, 1000.0 - 3600.0) == 0.0
