"""What the configuration gives pods to end: KEP-2000's two windows, KEP-2712's many."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from actors.shared.config.fields.duration import Duration
from actors.shared.config.fields.groups import PriorityGracePeriod
from actors.shared.config.fields.kubelet_configuration import KubeletConfiguration
from actors.shared.config.fields.shutdown_windows import Window, fitted, seconds_in_all, windows

BY_PRIORITY = [
    PriorityGracePeriod(priority=100000, shutdownGracePeriodSeconds=10),
    PriorityGracePeriod(priority=0, shutdownGracePeriodSeconds=60),
    PriorityGracePeriod(priority=10000, shutdownGracePeriodSeconds=0),
]


def test_without_a_period_nothing_waits() -> None:
    assert windows(KubeletConfiguration()) == ()


def test_critical_pods_have_the_last_part_of_the_period() -> None:
    config = KubeletConfiguration(shutdownGracePeriod=Duration(30.5), shutdownGracePeriodCriticalPods=Duration(10))
    assert windows(config) == (Window(0, 20.5), Window(2_000_000_000, 10))


def test_windows_by_priority_pass_from_low_to_high() -> None:
    config = KubeletConfiguration(shutdownGracePeriodByPodPriority=BY_PRIORITY)
    assert windows(config) == (Window(0, 60), Window(10000, 0), Window(100000, 10))


def test_without_the_feature_gate_nothing_waits() -> None:
    config = KubeletConfiguration(
        shutdownGracePeriodByPodPriority=BY_PRIORITY, featureGates={"GracefulNodeShutdown": False}
    )
    assert windows(config) == ()


def test_low_priorities_lose_their_time_first() -> None:
    given_windows = (Window(0, 60), Window(10, 20), Window(20, 10))
    assert fitted(given_windows, 25) == (Window(0, 0), Window(10, 15), Window(20, 10))


_WINDOWS = st.lists(st.builds(Window, st.integers(-5, 5), st.floats(0, 100)), max_size=5)


@given(_WINDOWS, st.floats(0, 600))
def test_fitted_windows_keep_the_limit_and_do_not_grow(given_windows: list[Window], most: float) -> None:
    found = fitted(given_windows, most)
    assert seconds_in_all(found) <= max(most, 0) + 1e-6
    assert all(new.seconds <= old.seconds for new, old in zip(found, given_windows, strict=True))
    if seconds_in_all(given_windows) <= most - 1e-6:
        assert list(found) == given_windows
