"""The inhibitor lock: logind is told how long the pods need, and when it has read that is looked at a few times."""

from __future__ import annotations

import logging
import os
from typing import Any

from actors.shared.config.fields.shutdown_windows import Window, seconds_in_all
from actors.shutdown_manager.inhibitor_lock import DELAY_PAUSES, InhibitorLock
from supervision.repeated_warnings import RepeatedWarnings

WINDOWS = (Window(0, 20), Window(1000, 10))


class Logind:
    """It reads its configuration `reads_after` looks after it was told to wait longer."""

    def __init__(self, given: float, reads_after: int) -> None:
        self.given, self.reads_after = given, reads_after
        self.told: float | None = None

    async def delay(self) -> float:
        if self.told is not None:
            self.reads_after -= 1
            if self.reads_after < 0:
                self.given = self.told
        return self.given

    async def raise_delay(self, seconds: float) -> None:
        self.told = seconds

    async def inhibit(self) -> int:
        return os.open(os.devnull, os.O_RDONLY)


async def started(logind: Any) -> tuple[InhibitorLock, list[float]]:
    pauses: list[float] = []

    async def pause(seconds: float) -> None:
        pauses.append(seconds)

    lock = InhibitorLock(WINDOWS, pause, RepeatedWarnings(logging.getLogger("test")))
    await lock.start(logind)
    lock.release()
    return lock, pauses


async def test_nothing_is_looked_at_again_once_logind_waits_long_enough() -> None:
    lock, pauses = await started(Logind(5.0, reads_after=2))
    assert pauses == [*DELAY_PAUSES[:3]]
    assert lock.windows == WINDOWS


async def test_a_logind_that_waits_long_enough_is_told_nothing() -> None:
    logind = Logind(seconds_in_all(WINDOWS), reads_after=0)
    _, pauses = await started(logind)
    assert (logind.told, pauses) == (None, [])


async def test_the_windows_are_cut_for_a_logind_that_does_not_wait_longer() -> None:
    lock, pauses = await started(Logind(12.0, reads_after=100))
    assert pauses == [*DELAY_PAUSES]
    assert seconds_in_all(lock.windows) <= 12.0
