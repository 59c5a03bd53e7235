"""The query parameters of /containerLogs, checked. Pure.

Names and errors are as in the API's PodLogOptions; all errors are reported at once.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping

import msgspec

from actors.http_servers.serving.http_error import HttpError

_NUMBER = re.compile("[+-]?0*[0-9]{1,19}")
_MOST = (1 << 63) - 1
"""The largest number of the API; clients send it for "all"."""


class LogQuery(msgspec.Struct, frozen=True, kw_only=True):
    """`since_ns` is nanoseconds since 1970, 0 for all; `tail_lines` and `limit_bytes` None for no limit."""

    follow: bool = False
    previous: bool = False
    timestamps: bool = False
    tail_lines: int | None = None
    limit_bytes: int | None = None
    since_ns: int = 0
    stream: str = "All"


class QueryError(HttpError):
    """Wrong parameters; the text names each of them. 400: unreadable; 422: not allowed."""


class _Problems:
    """The errors of the parameters."""

    def __init__(self) -> None:
        self.unreadable: list[str] = []
        self.invalid: list[str] = []

    def check(self) -> None:
        """Raises QueryError."""
        if self.unreadable:
            raise QueryError(400, "; ".join([*self.unreadable, *self.invalid]))
        if self.invalid:
            raise QueryError(422, "; ".join(self.invalid))


def check_stream(query: LogQuery) -> None:
    """Refuse a chosen stream: the gate PodLogsQuerySplitStreams is off. An API server with the gate on sends `All` in
    each request. Raises QueryError."""
    if query.stream != "All":
        text = f'unable to return the given log stream: "{query.stream}". Please enable PodLogsQuerySplitStreams'
        raise QueryError(400, f"{text} feature gate in kubelet")


def parse_query(values: Mapping[str, str], now: float) -> LogQuery:
    """The query of these parameters; `now` in seconds since 1970. Raises QueryError."""
    problems = _Problems()
    query = LogQuery(
        follow=_flag(values, "follow"),
        previous=_flag(values, "previous"),
        timestamps=_flag(values, "timestamps"),
        tail_lines=_number(values, "tailLines", 0, problems),
        limit_bytes=_number(values, "limitBytes", 1, problems),
        since_ns=_start_time(values, now, problems),
        stream=values.get("stream", "All"),
    )
    if query.stream not in ("All", "Stdout", "Stderr"):
        problems.invalid.append(
            f'stream: Unsupported value: "{query.stream[:40]}": supported values: "All", "Stdout", "Stderr"'
        )
    elif query.stream != "All" and query.tail_lines is not None:
        problems.invalid.append(
            "tailLines: Forbidden: `tailLines` and specific `stream` are mutually exclusive for now"
        )
    problems.check()
    return query


def _flag(values: Mapping[str, str], name: str) -> bool:
    """A boolean parameter, read as by the API: only `0` and `false` are false; a flag without a value is true."""
    return name in values and values[name].lower() not in ("0", "false")


def _number(values: Mapping[str, str], name: str, least: int, problems: _Problems) -> int | None:
    if name not in values:
        return None
    text = values[name]
    if not _NUMBER.fullmatch(text) or abs(number := int(text)) > _MOST:
        problems.unreadable.append(f'{name}: Invalid value: "{text[:40]}": must be a number')
        return None
    if number < least:
        problems.invalid.append(f"{name}: Invalid value: {number}: must be greater than or equal to {least}")
        return None
    return number


def _start_time(values: Mapping[str, str], now: float, problems: _Problems) -> int:
    seconds = _number(values, "sinceSeconds", 1, problems)
    text = values.get("sinceTime", "")
    if seconds is not None and text:
        problems.invalid.append("sinceSeconds, sinceTime: at most one of them may be given")
        return 0
    if seconds is not None:
        return max(0, int((now - seconds) * 1e9))
    if not text:
        return 0
    try:
        moment = datetime.datetime.fromisoformat(text)
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        problems.unreadable.append(f'sinceTime: Invalid value: "{text[:40]}": must be an RFC 3339 time')
        return 0
    return max(0, int(moment.timestamp() * 1e9))
