"""The local storage usage of pods with limits on it.

Logs and writable layers are measured each time, as the kubelet does in each round of evictions: a container fills its
node within seconds. Volumes may have many files: they are measured once in a period (volumeStatsAggPeriod).
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from .usage import DiskUsage, PodUsage
from .usage_reader import RunningPod, UsageReader


class LimitCheck:
    """`period`: of the volumes, in seconds. `clock`: seconds, monotonic."""

    def __init__(self, reader: UsageReader, period: float, clock: Callable[[], float]) -> None:
        self._reader, self._clock, self.period = reader, clock, period
        self._volumes: dict[str, dict[str, DiskUsage]] = {}
        """By the pod's UID, of the last measurement."""
        self._measured_at = float("-inf")

    async def usages(self, pods: list[RunningPod]) -> dict[str, PodUsage]:
        """By UID; none when they cannot be measured."""
        started_at = self._clock()
        due = started_at - self._measured_at >= self.period
        found = await self._reader.disks(pods, volumes=due)
        if found is None:
            return {}
        if due:
            self._measured_at = started_at
            self._volumes = {uid: one.volumes for uid, one in found.items()}
        return {uid: msgspec.structs.replace(one, volumes=self._volumes.get(uid, {})) for uid, one in found.items()}
