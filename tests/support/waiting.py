"""Waiting for what a process does, and judging how long it took."""

from __future__ import annotations

import time
from collections.abc import Callable


def wait_for(condition: Callable[[], bool], seconds: float = 20.0) -> None:
    """Raises AssertionError when it does not come about."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not within {seconds:g} s"
        time.sleep(0.005)


def in_time(once: Callable[[], float], most: float, tries: int = 3) -> None:
    """`once` answers the seconds that something took: at most so many in one try, as a machine that has other work may
    stand still for a moment, but not each time. What has nothing to do with time it asserts itself."""
    took: list[float] = []
    while not took or took[-1] > most:
        assert len(took) < tries, f"more than {most:g} s: {took}"
        took.append(once())


def seconds_of(call: Callable[[], object]) -> float:
    started_at = time.monotonic()
    call()
    return time.monotonic() - started_at
