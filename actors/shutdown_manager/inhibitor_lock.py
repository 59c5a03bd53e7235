"""The inhibitor lock of the agent: while it is held, logind delays a shutdown for as long as the windows take."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from typing import Final

from actors.shared.config.fields.shutdown_windows import Window, fitted, seconds_in_all
from supervision.repeated_warnings import RepeatedWarnings

from .logind import Logind, LogindError

EPSILON: Final = 0.001
DELAY_PAUSES: Final = (0.1, 0.2, 0.4, 0.8, 1.6)
"""Seconds between checks whether logind has read its configuration."""


class InhibitorLock:
    """The lock, and the windows that fit the delay of logind."""

    def __init__(
        self, wanted: tuple[Window, ...], pause: Callable[[float], Awaitable[None]], warnings: RepeatedWarnings
    ) -> None:
        self._wanted, self._pause, self._warnings = wanted, pause, warnings
        self.windows = wanted
        """The configured windows, cut if logind waits for less."""
        self._lock = -1

    async def start(self, logind: Logind) -> None:
        """Fit the windows, then take a lock. Raises LogindError."""
        await self._fit_windows(logind)
        lock = await logind.inhibit()
        self.release()
        self._lock = lock

    def release(self) -> None:
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    async def _fit_windows(self, logind: Logind) -> None:
        """Have logind wait for as long as the windows take; if it does not, cut the windows."""
        needed, given = seconds_in_all(self._wanted), await logind.delay()
        if given < needed - EPSILON:
            try:
                await logind.raise_delay(needed)
                for pause in DELAY_PAUSES:
                    await self._pause(pause)
                    given = await logind.delay()
                    if given >= needed - EPSILON:
                        break
            except LogindError as error:
                self._warnings.warn("raise", f"logind cannot be told to wait longer: {error}")
        self.windows = fitted(self._wanted, given)
        if given < needed - EPSILON:
            text = "logind waits %.0f s for pods to end, not %.0f s: those of low priority have less time, or none"
            self._warnings.warn("delay", text % (given, needed))
        else:
            self._warnings.resolved("delay")
