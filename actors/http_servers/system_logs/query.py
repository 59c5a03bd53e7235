"""A node log query (KEP-2258): its parameters, and the command line of journalctl(1) for it. Pure.

A query names up to four services, or one file below /var/log.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

import msgspec

from actors.http_servers.serving.http_error import HttpError

Query = Mapping[str, Sequence[str]]
MOST_SERVICES: Final = 4
MOST_NAME: Final = 256
MOST_LINES: Final = 100_000
MOST_PATTERN: Final = 4096
"""Characters; parsing a longer pattern would block the server."""
_SERVICE: Final = re.compile(r"[a-zA-Z0-9@._:\\-]+")
_INTEGER: Final = re.compile(r"-?[0-9]{1,18}")
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)")


class NodeLogQueryError(HttpError):
    """400: unreadable; 406: contradictory or out of range."""


class NodeLogQuery(msgspec.Struct, frozen=True):
    """Either `services` or `file` is not empty."""

    services: list[str]
    file: str = ""
    since: datetime | None = None
    until: datetime | None = None
    tail_lines: int | None = None
    boot: int | None = None
    pattern: str = ""

    @property
    def has_options(self) -> bool:
        """Whether the query names more than services or a file."""
        return bool(self.since or self.until or self.tail_lines is not None or self.boot is not None or self.pattern)


def parse(query: Query, path: str = "") -> NodeLogQuery | None:
    """None: there is no query. `path`: the request's path below /logs/. Raises NodeLogQueryError."""
    names = [name.replace("\\", "/") for name in query.get("query", ()) if name.strip()]
    if "query" in query and not names:
        raise NodeLogQueryError(400, "query: cannot be empty")
    files = [name for name in names if "/" in name]
    services = [name for name in names if "/" not in name]
    found = NodeLogQuery(
        services,
        files[0].lstrip("/") if files else "",
        _time(query, "sinceTime"),
        _time(query, "untilTime"),
        _integer_value(query, "tailLines"),
        _integer_value(query, "boot"),
        _first_value(query, "pattern"),
    )
    if not names and not found.has_options:
        return None
    if path:
        raise NodeLogQueryError(406, "path not allowed in query mode")
    _check(found, files)
    return found


def _check(found: NodeLogQuery, files: list[str]) -> None:
    if len(files) > 1 or (files and found.services):
        raise NodeLogQueryError(406, "query: specify either one file or services, not both")
    if files and found.has_options:
        raise NodeLogQueryError(406, "query: a file can be specified alone only")
    if not files and not found.services:
        raise NodeLogQueryError(406, "query: cannot be empty with options")
    if len(found.services) > MOST_SERVICES:
        raise NodeLogQueryError(406, f"query: at most {MOST_SERVICES} services")
    for name in found.services:
        if len(name) > MOST_NAME or not _SERVICE.fullmatch(name) or name.startswith("-"):
            raise NodeLogQueryError(406, f"query: {name[:40]!r} is no name of a service")
    if found.tail_lines is not None and not 0 <= found.tail_lines <= MOST_LINES:
        raise NodeLogQueryError(406, f"tailLines: must be from 0 to {MOST_LINES}")
    if found.boot is not None and found.boot > 0:
        raise NodeLogQueryError(406, "boot: must be 0 or less")
    if found.since and found.until and found.until < found.since:
        raise NodeLogQueryError(406, "untilTime: must be after sinceTime")
    if len(found.pattern) > MOST_PATTERN:
        raise NodeLogQueryError(406, f"pattern: at most {MOST_PATTERN} characters")
    try:
        re.compile(found.pattern)
    except (re.error, RecursionError, OverflowError) as error:
        raise NodeLogQueryError(406, f"pattern: {error}") from None


def command(query: NodeLogQuery) -> list[str]:
    """journalctl's arguments. A caller's value always follows its option, so it is never read as an option."""
    found = ["--utc", "--no-pager", "--output=short-precise"]
    if query.since is not None:
        found.append(f"--since={_stamp(query.since)}")
    if query.until is not None:
        found.append(f"--until={_stamp(query.until)}")
    if query.tail_lines is not None:
        found.append(f"--lines={query.tail_lines}")
    found += [f"--unit={name}" for name in query.services]
    if query.pattern:
        found += [f"--grep={query.pattern}", "--case-sensitive=false"]
    if query.boot is not None:
        found.append(f"--boot={query.boot}")
    return found


def probe(service: str) -> list[str]:
    """journalctl's arguments for the last line of a service's journal, which show whether it has one."""
    return ["--quiet", "--no-pager", "--output=cat", "--lines=1", f"--unit={service}"]


def _stamp(time: datetime) -> str:
    return time.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S.%f UTC")


def _first_value(query: Query, name: str) -> str:
    values = query.get(name, ())
    return values[0] if values else ""


def _time(query: Query, name: str) -> datetime | None:
    text = _first_value(query, name)
    if not text:
        return None
    try:
        if not _TIME.fullmatch(text):
            raise ValueError
        return datetime.fromisoformat(re.sub(r"(\.\d{6})\d+", r"\1", text))
    except ValueError:
        raise NodeLogQueryError(400, f"{name}: {text[:40]!r} is no RFC 3339 time") from None


def _integer_value(query: Query, name: str) -> int | None:
    text = _first_value(query, name)
    if not text:
        return None
    if not _INTEGER.fullmatch(text):
        raise NodeLogQueryError(400, f"{name}: {text[:40]!r} is no whole number")
    return int(text)
