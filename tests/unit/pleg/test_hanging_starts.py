"""When a start that never ends is a reason to restart the runtime."""

from __future__ import annotations

from actors.pleg.hanging_starts import (
    HANGS_SECONDS,
    PAUSE_SECONDS,
    HangingStarts,
    overdue,
    runtime_restarted,
    start_found,
)

KNOWN = ("a", "b")


def test_a_start_that_hangs_in_the_runtime_for_long_is_overdue() -> None:
    state = start_found(HangingStarts(), "a", 100.0, KNOWN)
    assert not overdue(state, "a", 100.0)
    assert not overdue(state, "b", 1e6)
    state = start_found(state, "a", 100.0 + HANGS_SECONDS, KNOWN)
    assert overdue(state, "a", 100.0 + HANGS_SECONDS)


def test_the_runtime_is_not_restarted_again_before_a_pause() -> None:
    at = 100.0 + HANGS_SECONDS
    state = start_found(runtime_restarted(at), "a", at, KNOWN)
    assert not overdue(state, "a", at + HANGS_SECONDS)
    assert not overdue(state, "a", at + PAUSE_SECONDS - 1.0)
    assert overdue(state, "a", at + PAUSE_SECONDS)


def test_a_container_that_is_gone_is_forgotten() -> None:
    state = start_found(HangingStarts(), "a", 100.0, KNOWN)
    assert set(start_found(state, "b", 101.0, ("b",)).since) == {"b"}
