"""The phases of a shutdown: what each event leads to in each phase."""

from __future__ import annotations

from itertools import product

import pytest

from actors.shutdown_manager.phases import TRANSITIONS, ShutdownEffect, ShutdownEvent, ShutdownPhase, decide

UNKNOWN, PRESUMED, UP, SHUTTING_DOWN = tuple(ShutdownPhase)
PREPARING, NOT_PREPARING, UNREACHABLE, EXPIRED = tuple(ShutdownEvent)


@pytest.mark.parametrize("phase", [UNKNOWN, UP])
def test_a_shutdown_is_recorded_and_published_before_pods_are_ordered_to_end(phase: ShutdownPhase) -> None:
    after, effects = decide(phase, PREPARING)
    assert after is SHUTTING_DOWN
    assert effects == (
        ShutdownEffect.RECORD_START,
        ShutdownEffect.PUBLISH,
        ShutdownEffect.EMIT_START,
        ShutdownEffect.END_PODS,
    )


def test_a_presumed_shutdown_that_continues_keeps_its_record() -> None:
    after, effects = decide(PRESUMED, PREPARING)
    assert after is SHUTTING_DOWN
    assert ShutdownEffect.RECORD_START not in effects
    assert ShutdownEffect.END_PODS in effects


@pytest.mark.parametrize("phase", [PRESUMED, SHUTTING_DOWN])
def test_a_cancelled_shutdown_is_recorded_before_it_is_published(phase: ShutdownPhase) -> None:
    after, effects = decide(phase, NOT_PREPARING)
    assert after is UP
    assert effects == (
        ShutdownEffect.STOP_ENDING_PODS,
        ShutdownEffect.RECORD_END,
        ShutdownEffect.PUBLISH,
        ShutdownEffect.EMIT_CANCELLATION,
    )


def test_only_a_presumed_shutdown_expires() -> None:
    assert decide(PRESUMED, EXPIRED) == (UP, (ShutdownEffect.RECORD_END, ShutdownEffect.PUBLISH))
    assert all(decide(phase, EXPIRED) == (phase, ()) for phase in ShutdownPhase if phase is not PRESUMED)


@pytest.mark.parametrize("phase", [UP, PRESUMED, SHUTTING_DOWN])
def test_a_known_shutdown_stays_while_logind_is_missing(phase: ShutdownPhase) -> None:
    assert decide(phase, UNREACHABLE) == (phase, ())


@pytest.mark.parametrize("event", [NOT_PREPARING, UNREACHABLE])
def test_the_first_report_about_logind_is_published(event: ShutdownEvent) -> None:
    after, effects = decide(UNKNOWN, event)
    assert after is UP
    assert ShutdownEffect.PUBLISH in effects


@pytest.mark.parametrize(("phase", "event"), list(product(ShutdownPhase, ShutdownEvent)))
def test_an_event_that_comes_again_publishes_nothing(phase: ShutdownPhase, event: ShutdownEvent) -> None:
    after, _ = decide(phase, event)
    assert decide(after, event) in ((after, ()), (after, (ShutdownEffect.RECORD_MISSED_END,)))


@pytest.mark.parametrize(("phase", "event"), list(product(ShutdownPhase, ShutdownEvent)))
def test_every_change_of_the_published_state_is_published(phase: ShutdownPhase, event: ShutdownEvent) -> None:
    after, effects = decide(phase, event)
    changes = phase.refuses_pods != after.refuses_pods or (phase is UNKNOWN and after is not UNKNOWN)
    assert not changes or ShutdownEffect.PUBLISH in effects


def test_every_phase_has_a_row() -> None:
    assert set(TRANSITIONS) == set(ShutdownPhase)
