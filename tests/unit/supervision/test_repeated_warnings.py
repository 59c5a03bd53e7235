"""A flood of warnings that others cause is no flood of log lines."""

from __future__ import annotations

import logging

import pytest

from supervision.repeated_warnings import PAUSE_SECONDS, FrequentWarnings


def test_a_warning_that_comes_often_is_logged_once_in_a_while_with_the_number_of_the_others(
    caplog: pytest.LogCaptureFixture,
) -> None:
    now = [0.0]
    warnings = FrequentWarnings(logging.getLogger("test"), clock=lambda: now[0])
    for _ in range(1000):
        warnings.warn("peer", "connection refused")
    warnings.warn("other", "too many")
    now[0] += PAUSE_SECONDS
    warnings.warn("peer", "connection refused")
    warnings.warn("peer", "connection refused")
    assert caplog.messages == [
        "connection refused",
        "too many",
        "connection refused (999 more of these since the last line)",
    ]
