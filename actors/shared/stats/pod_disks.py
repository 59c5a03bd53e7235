"""The disk usage of pods. A volume that hangs costs only its own figures."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, Final

from .hanging_paths import Disposable, HangingPaths
from .volume_figures import VolumeFigures

PODS_SECONDS: Final = 30.0
MOUNTED_SECONDS: Final = 10.0
"""The time limit for all mounted volumes. A longer one would let a volume that hangs delay the others' figures."""
_PODS: Final = "actors.shared.stats.disk:measure_pods"
_VOLUMES: Final = "actors.shared.stats.disk:measure_volumes"
MEASURE_SECONDS: Final = PODS_SECONDS + MOUNTED_SECONDS + 5.0
"""The time limit for all of it: mounted volumes that hang are asked once more, one by one."""


class PodDisks:
    """`clock`: seconds, monotonic."""

    def __init__(
        self, disposable: Disposable, log: logging.Logger, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._disposable, self._hanging = disposable, HangingPaths(disposable, log, clock)

    async def measure_logs(self, pods: list[list[str]]) -> dict[str, dict[str, Any]]:
        """Measure as `disk.measure_pods`, no volumes. Raises DisposableError."""
        return dict(await self._disposable(_PODS, {"pods": pods, "volumes": False}, PODS_SECONDS))

    async def measure(self, pods: list[list[str]], left_out: Collection[str] = ()) -> dict[str, dict[str, Any]]:
        """Measure as `disk.measure_pods`, without volumes that hang. `left_out`: the volumes that drivers measure
        (`driven`).

        Raises DisposableError."""
        found = await self._disposable(_PODS, {"pods": pods}, PODS_SECONDS)
        owner = {
            path: pod
            for uid, pod in found.items()
            for path in pod.pop("mounted", ())
            if "/".join((uid, *path.split("/")[-2:])) not in left_out
        }
        measured = await self._hanging.ask(_VOLUMES, owner.keys(), MOUNTED_SECONDS)
        for path, volume in measured.items():
            owner[path]["volumes"][volume.pop("name")] = volume
        return dict(found)


def driven(by_drivers: Iterable[VolumeFigures]) -> list[str]:
    """The volumes that CSI drivers measure, each with its pod."""
    return [f"{one.uid}/{one.folder}" for one in by_drivers]


def put_driver_figures(found: Mapping[str, dict[str, Any]], by_drivers: Iterable[VolumeFigures]) -> None:
    """If a driver measures a volume, only its figures count."""
    for one in by_drivers:
        if one.uid in found:
            _put(found[one.uid]["volumes"], one)


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
