"""Times of the API (RFC 3339). Pure."""

from __future__ import annotations

from datetime import UTC, datetime


def seconds(when: str | None) -> float:
    """Seconds since 1970; 0 for None or an invalid time."""
    try:
        return datetime.fromisoformat(when).timestamp() if when else 0.0
    except ValueError:
        return 0.0


def rfc3339(seconds: float) -> str:
    """A Time of the API, of whole seconds; `seconds` since 1970."""
    return datetime.fromtimestamp(int(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def micro_time(seconds: float) -> str:
    """A MicroTime of the API; `seconds` since 1970."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def nano_time(nanoseconds: int) -> str:
    """`2026-01-02T03:04:05.000000006Z`, as Go's RFC3339Nano prints it; `nanoseconds` since 1970."""
    seconds, fraction = divmod(nanoseconds, 1_000_000_000)
    digits = f".{fraction:09d}".rstrip("0").rstrip(".")
    return f"{rfc3339(seconds).removesuffix('Z')}{digits}Z"
