"""Backoffs of failed pulls."""

from __future__ import annotations

from actors.image_manager.pull_backoff import PullBackoffs


def no_jitter() -> float:
    return 0.0


def test_the_pauses_double_up_to_five_minutes_and_begin_again_after_a_success_or_ten_minutes() -> None:
    backoffs, now, pauses = PullBackoffs(), 1000.0, []
    for _ in range(7):
        pauses.append(backoffs.failed("u", "app", "ErrImagePull", "no", now, no_jitter))
        now += pauses[-1]
    assert pauses == [10, 20, 40, 80, 160, 300, 300]
    assert backoffs.failed("u", "app", "ErrImagePull", "no", now + 600, no_jitter) == 10
    backoffs.failed("u", "app", "ErrImagePull", "no", now + 610, no_jitter)
    backoffs.succeeded("u", "app")
    assert backoffs.failed("u", "app", "ErrImagePull", "no", now + 640, no_jitter) == 10


def test_a_failure_counts_for_its_pod_and_image_until_its_pause_is_over() -> None:
    backoffs = PullBackoffs()
    backoffs.failed("u", "app", "RegistryUnavailable", "away", 0.0, no_jitter)
    found = backoffs.current("u", "app", 9.9)
    assert found is not None
    assert (found.reason, found.text, found.until) == ("RegistryUnavailable", "away", 10.0)
    assert backoffs.current("u", "app", 10.0) is None
    assert backoffs.current("v", "app", 0.0) is None
    assert backoffs.current("u", "other", 0.0) is None


def test_the_backoffs_of_pods_that_are_gone_are_forgotten() -> None:
    backoffs = PullBackoffs()
    for uid in ("gone", "kept"):
        backoffs.failed(uid, "app", "ErrImagePull", "no", 0.0, no_jitter)
    backoffs.retain(lambda uid: uid == "kept")
    assert backoffs.current("gone", "app", 0.0) is None
    assert backoffs.current("kept", "app", 0.0) is not None
