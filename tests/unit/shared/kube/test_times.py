"""Times of the API, and when the node saw a pod first."""

from __future__ import annotations

import pytest

from actors.shared.kube.codec import decode_pod, encode
from actors.shared.kube.times import seconds, start_time


@pytest.mark.parametrize(
    ("when", "expected"),
    [("1970-01-01T00:01:00Z", 60.0), ("1970-01-01T01:00:00+01:00", 0.0), ("no time", 0.0), ("", 0.0), (None, 0.0)],
)
def test_a_time_is_seconds_since_1970(when: str | None, expected: float) -> None:
    assert seconds(when) == expected


@pytest.mark.parametrize(
    ("status", "seen", "expected"),
    [
        ("2026-01-02T03:04:05Z", "2025-01-01T00:00:00Z", "2026-01-02T03:04:05Z"),
        ("", "2025-01-01T00:00:00Z", "2025-01-01T00:00:00Z"),
        ("", "2025-01-01T00:00:00.123456789Z", "2025-01-01T00:00:00Z"),
        ("", "2025-01-01T00:00:00", ""),
        ("", "Z", ""),
        ("", "", ""),
    ],
)
def test_a_pod_started_at_its_start_time_else_when_its_manifest_was_seen(status: str, seen: str, expected: str) -> None:
    metadata = {"annotations": {"kubernetes.io/config.seen": seen} if seen else {}}
    body = {"metadata": metadata, "status": {"startTime": status} if status else {}}
    assert start_time(decode_pod(encode(body))) == expected
