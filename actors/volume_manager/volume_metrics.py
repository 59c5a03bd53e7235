"""Metrics of the volumes of pods: desired and mounted ones, and operations on them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final

from supervision.metrics import Metrics

TOTAL: Final = "volume_manager_total_volumes"
DESIRED, ACTUAL = "desired_state_of_world", "actual_state_of_world"


class VolumeMetrics:
    """Remembers the plugins that it has counted: their gauges go to 0 when no volume is left."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._counted: set[tuple[str, str]] = set()

    def operation(self, name: str, plugin: str, seconds: float, *, failed: bool) -> None:
        """Observe an operation on one volume: volume_mount, volume_unmount; map_volume, unmap_volume of a device."""
        self._metrics.observe(
            "storage_operation_duration_seconds",
            seconds,
            operation_name=name,
            volume_plugin=plugin,
            status="fail-unknown" if failed else "success",
            migrated="false",
        )

    def count(self, volumes: Iterable[tuple[str, bool]]) -> None:
        """`volumes`: the plugin of each volume of all pods, and whether it is mounted."""
        counts: Counter[tuple[str, str]] = Counter()
        for plugin, mounted in volumes:
            counts[plugin, DESIRED] += 1
            counts[plugin, ACTUAL] += mounted
        self._counted |= counts.keys()
        for plugin, state in self._counted:
            self._metrics.gauge(TOTAL, counts[plugin, state], plugin_name=plugin, state=state)
