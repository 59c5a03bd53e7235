"""A factor for all deadlines: a machine that is ten times slower gets ten times as long.

The deadlines in code and policy suit an ordinary machine. At start the fork server measures how long a fixed piece of
work takes, and logs the resulting factor. SUPERVISION_TIME_SCALE=3 sets the factor instead. It applies to the
supervision policy (start, shutdown, heartbeat, busy), to questions, messages and disposable processes, and to every
caller of `scaled`. Forked processes inherit it."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import logging  # the command line needs the factor only

VARIABLE: Final = "SUPERVISION_TIME_SCALE"
REFERENCE_SECONDS: Final = 0.0025
"""The time of the work on the reference machine: two cloud cores, CPython 3.11."""
ORDINARY: Final = 2.0
"""Up to this slowness the deadlines stay unchanged."""
MOST: Final = 20.0
_ROUNDS: Final = 5


@dataclass
class _Scale:
    factor: float = 1.0
    is_established: bool = False


_scale = _Scale()


def scaled(seconds: float) -> float:
    """The deadline for this machine."""
    return seconds * _scale.factor


def factor() -> float:
    """The factor of this process."""
    return _scale.factor


def use(factor: float) -> None:
    """Set the factor of this process and its forks."""
    _scale.factor = factor


def factor_of(seconds: float) -> float:
    """The factor for a machine that takes `seconds` for the work: 1 to 20, in steps of 0.5."""
    ratio = seconds / REFERENCE_SECONDS
    return 1.0 if ratio <= ORDINARY else min(MOST, round(2 * ratio) / 2)


def find() -> tuple[float, str]:
    """The factor for this machine, and its reason for the log."""
    given = os.environ.get(VARIABLE, "")
    if given:
        try:
            factor = float(given)
        except ValueError:
            factor = 0.0
        if 1.0 <= factor <= 100.0:
            return factor, f"deadlines are multiplied by {factor:g}: {VARIABLE} says so"
        return 1.0, f"{VARIABLE} must be a number from 1 to 100, not {given!r}: deadlines stay as they are"
    took = min(_measure() for _ in range(_ROUNDS))
    factor = factor_of(took)
    measured = f"{1000 * took:.1f} ms for what takes an ordinary machine {1000 * REFERENCE_SECONDS:g} ms"
    return factor, f"deadlines are multiplied by {factor:g}: this machine took {measured}"


def establish(log: logging.Logger) -> None:
    """Measure the factor, use it and log it; once in a process."""
    if _scale.is_established:
        return
    factor, why = find()
    use(factor)
    _scale.is_established = True
    (log.info if factor == 1.0 else log.warning)("%s", why)


def _measure() -> float:
    """CPU seconds of the work, which uses dictionaries and strings. Wall-clock time would depend on what else runs at
    this moment, but the factor holds for the life of the agent."""
    started_at = time.process_time()
    table: dict[int, str] = {}
    for number in range(12_000):
        table[number % 97] = f"{number}:{table.get(number % 89, '')}"[:9]
    return time.process_time() - started_at
