"""Times of the API, and when the node saw a pod first."""

from __future__ import annotations

import pytest

from actors.shared.kube.times import micro_time, nano_time, rfc3339, seconds


@pytest.mark.parametrize(
    ("when", "expected"),
    [("1970-01-01T00:01:00Z", 60.0), ("1970-01-01T01:00:00+01:00", 0.0), ("no time", 0.0), ("", 0.0), (None, 0.0)],
)
def test_a_time_is_seconds_since_1970(when: str | None, expected: float) -> None:
    assert seconds(when) == expected


def test_a_time_is_written_in_whole_seconds_microseconds_or_nanoseconds() -> None:
    assert rfc3339(1e9 + 0.9) == "2001-09-09T01:46:40Z"
    assert micro_time(1e9 + 0.25) == "2001-09-09T01:46:40.250000Z"
    assert [nano_time(10**18 + part) for part in (0, 6, 120_000_000)] == [
        "2001-09-09T01:46:40Z",
        "2001-09-09T01:46:40.000000006Z",
        "2001-09-09T01:46:40.12Z",
    ]
