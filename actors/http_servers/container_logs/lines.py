"""The lines of a CRI log file: `<RFC 3339 time, nanoseconds> <stream> <tags> <text>`. Pure.

The first tag is F for a whole line or P for a part of one: parts are put together by leaving out the newline between
them. A line that is not of this form is passed over, as the reference does.
"""

from __future__ import annotations

import datetime
from functools import lru_cache

from .query import LogQuery


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


class LineFilter:
    """Turns log lines into what the client is sent, up to its limit of bytes.

    Holds only how many bytes are still allowed and whether the next part begins a line.
    """

    def __init__(self, query: LogQuery) -> None:
        self._query = query
        self._left = query.limit_bytes
        self._at_start: dict[bytes, bool] = {}

    @property
    def full(self) -> bool:
        """The limit of bytes is reached."""
        return self._left is not None and self._left <= 0

    def feed(self, line: bytes) -> bytes:
        """What goes to the client for one line of the file (with or without its newline)."""
        parts = line.rstrip(b"\n").split(b" ", 3)
        if len(parts) < 3 or self.full:
            return b""
        stamp, stream, tags = parts[:3]
        text = parts[3] if len(parts) == 4 else b""
        if stream not in (b"stdout", b"stderr") or self._query.stream not in ("All", stream.decode().title()):
            return b""
        try:
            if self._query.since_ns and timestamp_ns(stamp) < self._query.since_ns:
                return b""
        except ValueError:
            return b""
        partial = tags.split(b":", 1)[0] == b"P"
        begins = self._at_start.get(stream, True)
        self._at_start[stream] = not partial
        out = (stamp + b" " if self._query.timestamps and begins else b"") + text + (b"" if partial else b"\n")
        if self._left is not None:
            out = out[: self._left]
            self._left -= len(out)
        return out
