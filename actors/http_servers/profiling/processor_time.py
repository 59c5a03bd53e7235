"""Profiles the processor time of this process: takes its stack after each 10 ms of that time."""

from __future__ import annotations

import asyncio
import signal
from collections import Counter
from types import FrameType
from typing import Final

from .stacks import Stack, StackProfile, ValueKind, of_frame

INTERVAL_SECONDS: Final = 0.01
_INTERVAL_NANOSECONDS: Final = round(INTERVAL_SECONDS * 1e9)
_TIME: Final = ValueKind("cpu", "nanoseconds")


class ProfilingInUse(Exception):
    """Another request is taking a profile."""


async def sample(seconds: float) -> StackProfile:
    """Raises ProfilingInUse."""
    if signal.getsignal(signal.SIGPROF) not in (signal.SIG_DFL, signal.SIG_IGN, None):
        raise ProfilingInUse
    stacks: Counter[Stack] = Counter()

    def look(number: int, frame: FrameType | None) -> None:
        stacks[of_frame(frame)] += 1

    signal.signal(signal.SIGPROF, look)
    signal.setitimer(signal.ITIMER_PROF, INTERVAL_SECONDS, INTERVAL_SECONDS)
    try:
        await asyncio.sleep(seconds)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, signal.SIG_DFL)
    return StackProfile(
        kinds=(ValueKind("samples", "count"), _TIME),
        samples={stack: (count, count * _INTERVAL_NANOSECONDS) for stack, count in stacks.most_common()},
        period=(_TIME, _INTERVAL_NANOSECONDS),
        seconds=seconds,
    )
