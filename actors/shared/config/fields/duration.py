"""Durations as Go writes them: `1h30m0s`, `100ms`. The grammar is the one of Go's time.ParseDuration.

A Duration is a float of seconds, for use with timers; it also keeps its exact nanoseconds, to print as in Go.
"""

from __future__ import annotations

import re
from typing import Self

_UNITS = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,  # U+00B5, micro sign
    "μs": 1_000,  # U+03BC, Greek mu: Go takes both
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "m": 60_000_000_000,
    "h": 3_600_000_000_000,
}
_LIMIT = 1 << 63
_TERM = re.compile(r"([0-9]*)(?:(\.)([0-9]*))?([^.0-9]+)")


class DurationError(ValueError):
    """The text is not a Go duration."""


class Duration(float):
    """A span of time in seconds. `nanoseconds` is exact; it compares and calculates as a float."""

    __slots__ = ("nanoseconds",)
    nanoseconds: int

    def __new__(cls, seconds: float = 0.0) -> Self:
        return cls.of_nanoseconds(round(seconds * 1e9))

    @classmethod
    def of_nanoseconds(cls, nanoseconds: int) -> Self:
        duration = super().__new__(cls, nanoseconds / 1e9)
        duration.nanoseconds = nanoseconds
        return duration

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse Go's notation. Raises DurationError for whatever Go rejects (`1d`, `1 h`, `1h-3m`, `5`, empty)."""
        return cls.of_nanoseconds(_parse(text))

    def __reduce__(self) -> tuple[object, tuple[int]]:
        return (Duration.of_nanoseconds, (self.nanoseconds,))

    def __str__(self) -> str:
        return _format(self.nanoseconds)

    def __repr__(self) -> str:
        return f"Duration({_format(self.nanoseconds)})"


def _parse(text: str) -> int:
    negative = text.startswith("-")
    rest = text[1:] if text[:1] in {"-", "+"} else text
    if rest == "0":
        return 0
    total, position = 0, 0
    while position < len(rest):
        term = _TERM.match(rest, position)
        if term is None:
            raise DurationError(f"invalid duration {text[:64]!r}: write it as 300ms, 1.5h or 2h45m")
        total += _term(text, term)
        position = term.end()
        if total > _LIMIT or (total == _LIMIT and not negative):
            raise DurationError(f"duration {text[:64]!r} is out of range (about 292 years)")
    if not rest:
        raise DurationError(f"invalid duration {text[:64]!r}: write it as 300ms, 1.5h or 2h45m")
    return -total if negative else total


def _term(text: str, term: re.Match[str]) -> int:
    """Nanoseconds of one number with its unit; fractions are truncated exactly as in Go."""
    whole, _, fraction, unit = term.groups()
    if not whole and not fraction:
        raise DurationError(f"invalid duration {text[:64]!r}: a unit without a number")
    scale = _UNITS.get(unit)
    if scale is None:
        raise DurationError(f"unknown unit {unit[:16]!r} in duration {text[:64]!r}: use ns, us, ms, s, m or h")
    if len(whole.lstrip("0")) > 19:
        raise DurationError(f"duration {text[:64]!r} is out of range (about 292 years)")
    nanoseconds = int(whole or "0") * scale
    if fraction:
        digits = _leading_fraction(fraction)
        nanoseconds += int(float(int(digits)) * (float(scale) / 10.0 ** len(digits)))
    return nanoseconds


def _leading_fraction(digits: str) -> str:
    """The digits that Go's leadingFraction keeps: as many as stay within 63 bits."""
    kept = digits[:18]
    for digit in digits[18:]:
        if int(kept) > (_LIMIT - 1) // 10 or int(kept + digit) > _LIMIT:
            break
        kept += digit
    return kept


def _format(nanoseconds: int) -> str:
    if nanoseconds == 0:
        return "0s"
    sign, left = ("-", -nanoseconds) if nanoseconds < 0 else ("", nanoseconds)
    if left < 1_000:
        return f"{sign}{left}ns"
    if left < 1_000_000:
        return f"{sign}{_decimal(left, 3)}µs"
    if left < 1_000_000_000:
        return f"{sign}{_decimal(left, 6)}ms"
    minutes, part = divmod(left, 60_000_000_000)
    hours, minutes = divmod(minutes, 60)
    seconds = f"{_decimal(part, 9)}s"
    if hours:
        return f"{sign}{hours}h{minutes}m{seconds}"
    return f"{sign}{minutes}m{seconds}" if minutes else f"{sign}{seconds}"


def _decimal(value: int, places: int) -> str:
    whole, part = divmod(value, 10**places)
    return f"{whole}.{part:0{places}d}".rstrip("0") if part else str(whole)
