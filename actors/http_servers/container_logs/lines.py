"""The lines of a log file, in either of two formats. Pure.

CRI: `<RFC 3339 time, nanoseconds> <stream> <tags> <text>`; the first tag is F for a whole line or P for a part of one.
Docker: `{"log": "<text>\\n", "stream": "<stream>", "time": "<RFC 3339 time>"}`; a part has no newline at its end. Parts
are joined. Like the kubelet, it skips a line of neither format.
"""

from __future__ import annotations

import datetime
import re
from functools import lru_cache
from typing import Final, NamedTuple

import msgspec

from supervision.errors import UNREADABLE

from .query import LogQuery

STREAMS = (b"stdout", b"stderr")
MAX_LINE_BYTES: Final = 1024 * 1024
"""Runtimes split lines at 16 KiB by default. The text of a longer line than this is sent in pieces if it is in the CRI
format; in Docker's format it is skipped."""
_STAMP = re.compile(rb"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d+))?(Z|[+-]\d\d:\d\d)")


@lru_cache(maxsize=256)
def _second_ns(text: str) -> int:
    return int(datetime.datetime.fromisoformat(text).timestamp()) * 1_000_000_000


def timestamp_ns(stamp: bytes) -> int:
    """Nanoseconds since 1970 of an RFC 3339 time. Raises ValueError."""
    text = stamp.decode("ascii")
    if len(text) < 20 or text[10] != "T":
        raise ValueError(f"not a time: {text}")
    zone_at = next((i for i in range(19, len(text)) if text[i] in "Z+-"), -1)
    if zone_at < 0:
        raise ValueError(f"no zone: {text}")
    fraction, zone = text[20:zone_at], text[zone_at:]
    if text[19:zone_at] and (text[19] != "." or not fraction.isdigit()):
        raise ValueError(f"not a time: {text}")
    return _second_ns(text[:19] + ("+00:00" if zone == "Z" else zone)) + int(fraction.ljust(9, "0")[:9] or "0")


def shown(stamp: bytes) -> bytes:
    """An RFC 3339 time with nine fractional digits, as in the kubelet: runtimes omit trailing zeros. Raises
    ValueError."""
    found = _STAMP.fullmatch(stamp)
    if found is None:
        raise ValueError(f"not a time: {stamp!r}")
    second, fraction, zone = found.groups(b"")
    return second + b"." + fraction[:9].ljust(9, b"0") + (b"Z" if zone == b"+00:00" else zone)


class Line(NamedTuple):
    """`stamp`: as written."""

    stamp: bytes
    stream: bytes
    text: bytes
    partial: bool


class _DockerLine(msgspec.Struct):
    log: str = ""
    stream: str = ""
    time: str = ""


_docker = msgspec.json.Decoder(_DockerLine)


def parse(line: bytes) -> Line | None:
    """The line of a file, with or without its newline; None for neither format."""
    if line.startswith(b"{"):
        return _parse_docker(line)
    parts = line.rstrip(b"\n").split(b" ", 3)
    if len(parts) < 3 or parts[1] not in STREAMS:
        return None
    text = parts[3] if len(parts) == 4 else b""
    return Line(parts[0], parts[1], text, parts[2].split(b":", 1)[0] == b"P")


def _parse_docker(line: bytes) -> Line | None:
    try:
        found = _docker.decode(line)
    except UNREADABLE:
        return None
    stream = found.stream.encode()
    if stream not in STREAMS:
        return None
    text = found.log.encode(errors="replace")
    return Line(found.time.encode(), stream, text.removesuffix(b"\n"), not text.endswith(b"\n"))


def is_partial(line: bytes) -> bool:
    """Whether the next line continues this one."""
    found = parse(line)
    return found is not None and found.partial


class LineFilter:
    """Turns the lines of a file into the output for the client, up to its limit of bytes."""

    def __init__(self, query: LogQuery) -> None:
        self._query = query
        self._remaining = query.limit_bytes
        self._at_start: dict[bytes, bool] = {}
        self.within_line = False
        """Whether the last piece did not end its line."""
        self._line_end: bytes | None = None
        """The output at the end of that line; None while the line is skipped."""

    @property
    def full(self) -> bool:
        """Whether the client's limit of bytes is reached."""
        return self._remaining is not None and self._remaining <= 0

    def feed(self, piece: bytes, *, ends: bool = True) -> bytes:
        """The output for a line of the file or a piece of one; `ends`: it is the last piece. The first piece has more
        than MAX_LINE_BYTES, so it contains the whole header before the text."""
        out = piece if self.within_line else self._start_line(piece)
        self.within_line = not ends
        if self._line_end is None:
            return b""
        if ends:
            out += self._line_end
        if self._remaining is not None:
            out = out[: self._remaining]
            self._remaining -= len(out)
        return out

    def _start_line(self, line: bytes) -> bytes:
        """The output for the part of this line that has been read, without its end."""
        self._line_end = None
        found = parse(line)
        if found is None or self.full or self._query.stream not in ("All", found.stream.decode().title()):
            return b""
        try:
            if self._query.since_ns and timestamp_ns(found.stamp) < self._query.since_ns:
                return b""
            at_line_start = self._at_start.get(found.stream, True)
            stamp = shown(found.stamp) + b" " if self._query.timestamps and at_line_start else b""
        except ValueError:
            return b""
        self._at_start[found.stream] = not found.partial
        self._line_end = b"" if found.partial else b"\n"
        return stamp + found.text
