"""Times as the API writes them (RFC 3339, in UTC, whole seconds)."""

from __future__ import annotations

from datetime import UTC, datetime


def rfc3339(nanoseconds: int) -> str | None:
    """`2026-01-02T03:04:05Z`: whole seconds, as the API has them; None for never (0)."""
    if nanoseconds <= 0:
        return None
    return datetime.fromtimestamp(nanoseconds // 1_000_000_000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def seconds(when: str | None) -> float:
    """Since 1970; 0 for none, or for what is no time."""
    try:
        return datetime.fromisoformat(when).timestamp() if when else 0.0
    except ValueError:
        return 0.0
