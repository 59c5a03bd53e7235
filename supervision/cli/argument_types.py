"""Types of arguments, for argparse: each turns a word into a value, or raises ArgumentTypeError with the reason."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from typing import Final, TypeVar

MOST: Final = 1_000_000_000
"""The largest number, some 31 years in seconds: clocks, lists and messages do not take numbers of any size."""
ALL_LINES: Final = -1
T = TypeVar("T")
_PART = r"(\d+(?:\.\d*)?)"
_SINCE = re.compile(rf"(?:{_PART}h)?(?:{_PART}m)?(?:{_PART}s)?(?:{_PART}ms)?")
_SINCE_FORM = "the age of the oldest line to show, as 90s, 5m or 1h30m"


def directory(text: str) -> str:
    """A directory, for argparse."""
    if not text:
        raise argparse.ArgumentTypeError("the name is empty")
    return text


def number(text: str) -> float:
    """A number, for argparse."""
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text} is no number") from None


def positive(text: str) -> float:
    """A number above zero, for argparse."""
    value = number(text)
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is not above zero")
    if value > MOST:
        raise argparse.ArgumentTypeError(f"{text} is more than {MOST}")
    return value


def whole_number(text: str) -> int:
    """A whole number, for argparse."""
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text} is no whole number") from None


def count(text: str) -> int:
    """A whole number from zero, for argparse."""
    value = whole_number(text)
    if value < 0:
        raise argparse.ArgumentTypeError(f"{text} is negative")
    if value > MOST:
        raise argparse.ArgumentTypeError(f"{text} is more than {MOST}")
    return value


def last_lines(text: str) -> int:
    """How many of the last lines, for argparse; 0 for none, ALL_LINES for all, as in kubectl."""
    return ALL_LINES if text == str(ALL_LINES) else count(text)


def last_of(items: Sequence[T], number: int) -> Sequence[T]:
    """The last `number` of them; ALL_LINES for all."""
    return items if number == ALL_LINES else items[len(items) - min(number, len(items)) :]


def since(text: str) -> float:
    """The seconds in `90s`, `5m` or `1h30m`, for argparse; 0 needs no unit."""
    if text == "0":
        return 0.0
    found = _SINCE.fullmatch(text)
    if not text or found is None:
        if text.isdecimal():
            raise argparse.ArgumentTypeError(f"{text} has no unit: it is {_SINCE_FORM}")
        wrong = "is negative" if text.startswith("-") else "is no duration"
        raise argparse.ArgumentTypeError(f"{text or repr(text)} {wrong}: it is {_SINCE_FORM}")
    hours, minutes, seconds, thousandths = (float(number or 0) for number in found.groups())
    age = hours * 3600 + minutes * 60 + seconds + thousandths / 1000
    if age > MOST:
        raise argparse.ArgumentTypeError(f"{text} is more than {MOST} seconds: it is {_SINCE_FORM}")
    return age
