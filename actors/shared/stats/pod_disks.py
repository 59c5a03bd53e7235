"""The disk usage of pods, of which one volume that hangs costs only its own figures."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Any, Final

from .hanging_paths import Disposable, HangingPaths

PODS_SECONDS: Final = 30.0
MOUNTED_SECONDS: Final = 10.0
"""For all volumes with mounts. With more time, one that hangs would make the others' figures older."""
_PODS: Final = "actors.shared.stats.disk:measure_pods"
_VOLUMES: Final = "actors.shared.stats.disk:measure_volumes"


class PodDisks:
    """`clock`: seconds, monotonic."""

    def __init__(
        self, disposable: Disposable, log: logging.Logger, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._disposable, self._hanging = disposable, HangingPaths(disposable, log, clock)

    async def measure(self, pods: list[list[str]]) -> dict[str, dict[str, Any]]:
        """As `disk.measure_pods`, with all volumes but those that hang. Raises DisposableError."""
        found: dict[str, dict[str, Any]] = await self._disposable(_PODS, {"pods": pods}, PODS_SECONDS)
        owner = {path: pod for pod in found.values() for path in pod.pop("mounted", ())}
        measured = await self._hanging.ask(_VOLUMES, owner.keys(), MOUNTED_SECONDS)
        for path, volume in measured.items():
            owner[path]["volumes"][volume.pop("name")] = volume
        return found
