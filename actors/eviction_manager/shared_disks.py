"""The disk usage of pods, for their limits and for the stats pages: these use what was measured for the limits.

The check of the limits waits for nobody and measures in its own time: a page never makes an eviction late.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from typing import Any, Final

import msgspec

from actors.shared.config.agent import Agent
from actors.shared.stats.pod_disks import PodDisks

Figures = dict[str, dict[str, Any]]
"""By the pod's UID."""


class _Kept(msgspec.Struct, frozen=True):
    at: float
    """By the clock."""
    figures: dict[str, Any]


DEFAULT_PERIOD_SECONDS: Final = 60.0


def volume_period(agent: Agent) -> float:
    """How long figures of volumes are good, in seconds; volumeStatsAggPeriod of 0 and less is the default."""
    given = float(agent.config.volumeStatsAggPeriod)
    return given if given > 0 else DEFAULT_PERIOD_SECONDS


class SharedDisks:
    """`period`: how old the figures of a page may be, in seconds; `clock`: seconds, monotonic."""

    def __init__(self, disks: PodDisks, period: float, clock: Callable[[], float]) -> None:
        self._disks, self._period, self._clock = disks, period, clock
        self._kept: dict[str, _Kept] = {}

    async def measure(self, pods: list[list[str]], left_out: Collection[str] = ()) -> Figures:
        """As PodDisks does. Raises DisposableError."""
        started_at = self._clock()
        found = await self._disks.measure(pods, left_out)
        at = time.time() - (self._clock() - started_at)
        found = {uid: {**one, "at": at} for uid, one in found.items()}
        recent = {uid: one for uid, one in self._kept.items() if self._is_recent(one)}
        self._kept = recent | {uid: _Kept(started_at, one) for uid, one in found.items()}
        return found

    async def measure_logs(self, pods: list[list[str]]) -> Figures:
        """As PodDisks does. Raises DisposableError."""
        return await self._disks.measure_logs(pods)

    async def recent(self, pods: list[list[str]], left_out: Collection[str]) -> Figures:
        """Those that were measured within the period, and those of the others now. Raises DisposableError."""
        known = {pod[0]: one.figures for pod in pods if (one := self._kept.get(pod[0])) and self._is_recent(one)}
        unknown = [pod for pod in pods if pod[0] not in known]
        return known | (await self.measure(unknown, left_out) if unknown else {})

    def _is_recent(self, kept: _Kept) -> bool:
        return self._clock() - kept.at < self._period
