"""When the lines of a log were written, in either format of `supervision.logs`. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Final

import msgspec

from ..errors import UNREADABLE

_HEADER: Final = re.compile(r"[IWEF](\d\d)(\d\d) (\d\d):(\d\d):(\d\d)\.(\d{6}) ")
_AHEAD_SECONDS: Final = 86400.0
"""A line further in the future than this is of an earlier year: klog's header has no year."""


class _DatedLine(msgspec.Struct):
    """What is read of a line in JSON."""

    ts: float
    """Milliseconds since 1970."""


_DATED_LINE: Final = msgspec.json.Decoder(_DatedLine)


def time_of(line: str, now: float) -> float | None:
    """Seconds since 1970; None for a line without a time. `now` gives the year, which klog's header lacks; its time is
    local."""
    if line.startswith("{"):
        try:
            return _DATED_LINE.decode(line).ts / 1000
        except UNREADABLE:
            return None
    match = _HEADER.match(line)
    return None if match is None else _latest([int(number) for number in match.groups()], now)


def younger(lines: Iterable[str], least: float, now: float) -> Iterator[str]:
    """The lines from that time on. A line without a time belongs to the line before it."""
    selected = False
    for line in lines:
        when = time_of(line, now)
        if when is not None:
            selected = when >= least
        if selected:
            yield line


def _latest(numbers: list[int], now: float) -> float | None:
    """The latest moment with these numbers that is not far ahead of now; a 29th of February may be years ago."""
    month, day, hour, minute, second, micros = numbers
    this_year = datetime.fromtimestamp(now).year  # noqa: DTZ006 - the header is local time
    for year in range(this_year + 1, this_year - 5, -1):
        try:
            when = datetime(year, month, day, hour, minute, second, micros).timestamp()  # noqa: DTZ001
        except ValueError:
            continue
        if when <= now + _AHEAD_SECONDS:
            return when
    return None
