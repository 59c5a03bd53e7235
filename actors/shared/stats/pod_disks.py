"""The disk usage of pods. A volume that hangs costs only its own figures."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from typing import Any, Final

from .hanging_paths import Disposable, HangingPaths
from .volume_figures import VolumeFigures

PODS_SECONDS: Final = 30.0
MOUNTED_SECONDS: Final = 10.0
"""The time limit for all mounted volumes. A longer one would let a volume that hangs delay the others' figures."""
_PODS: Final = "actors.shared.stats.disk:measure_pods"
_VOLUMES: Final = "actors.shared.stats.disk:measure_volumes"
AskDrivers = Callable[[], Awaitable[list[VolumeFigures]]]
"""The volumes that CSI drivers measure."""


async def no_drivers() -> list[VolumeFigures]:
    return []


class PodDisks:
    """`clock`: seconds, monotonic."""

    def __init__(
        self,
        disposable: Disposable,
        log: logging.Logger,
        clock: Callable[[], float] = time.monotonic,
        ask_drivers: AskDrivers = no_drivers,
    ) -> None:
        self._disposable, self._hanging = disposable, HangingPaths(disposable, log, clock)
        self._ask_drivers = ask_drivers

    async def measure_logs(self, pods: list[list[str]]) -> dict[str, dict[str, Any]]:
        """Measure as `disk.measure_pods`, no volumes. Raises DisposableError."""
        return dict(await self._disposable(_PODS, {"pods": pods, "volumes": False}, PODS_SECONDS))

    async def measure(self, pods: list[list[str]]) -> dict[str, dict[str, Any]]:
        """Measure as `disk.measure_pods`, without volumes that hang. If a driver measures a volume, only its figures
        count.

        Raises DisposableError."""
        by_drivers, found = await asyncio.gather(
            self._ask_drivers(), self._disposable(_PODS, {"pods": pods}, PODS_SECONDS)
        )
        driver_volumes = {(one.uid, one.folder) for one in by_drivers}
        owner = {
            path: pod
            for uid, pod in found.items()
            for path in pod.pop("mounted", ())
            if (uid, "/".join(path.split("/")[-2:])) not in driver_volumes
        }
        measured = await self._hanging.ask(_VOLUMES, owner.keys(), MOUNTED_SECONDS)
        for path, volume in measured.items():
            owner[path]["volumes"][volume.pop("name")] = volume
        for one in by_drivers:
            if one.uid in found:
                _put(found[one.uid]["volumes"], one)
        return dict(found)


def _put(volumes: dict[str, Any], measured: VolumeFigures) -> None:
    volumes.pop(measured.volume, None)
    if measured.figures is not None:
        volumes[measured.volume] = {
            **measured.figures,
            **({"claim": measured.claim} if measured.claim else {}),
            **({"abnormal": measured.abnormal} if measured.abnormal is not None else {}),
            "metric_source": measured.driver,
            "seconds": measured.seconds,
        }
