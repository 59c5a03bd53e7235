"""Volumes that drivers measure, among those that the agent measures."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from actors.shared.stats.pod_disks import PodDisks, driven, put_driver_figures
from actors.shared.stats.volume_figures import VolumeFigures

TOP = "/pods/u/volumes/kubernetes.io~csi"


class Processes:
    def __init__(self) -> None:
        self.measured: list[str] = []

    async def __call__(self, function: str, arguments: dict[str, Any], deadline: float) -> Any:
        if function.endswith(":measure_pods"):
            local = {"scratch": {"used_bytes": 1}, "memory": {"used_bytes": 9, "capacity_bytes": 9}}
            return {"u": {"volumes": local, "logs": {}, "own": {}, "mounted": [f"{TOP}/theirs", f"{TOP}/other"]}}
        self.measured += arguments["paths"]
        return {path: {"name": path.split("/")[-1], "used_bytes": 2} for path in arguments["paths"]}


@pytest.mark.parametrize("figures", [None, {"used_bytes": 5}])
async def test_a_volume_that_its_driver_measures_has_the_drivers_figures_or_none(
    figures: dict[str, int] | None,
) -> None:
    more: dict[str, Any] = {"driver": "d.test", "figures": figures, "claim": "disk"}

    by_drivers = [
        VolumeFigures(uid="u", folder="kubernetes.io~csi/theirs", volume="data", **more),
        VolumeFigures(uid="u", folder="kubernetes.io~csi/in-memory", volume="memory", **more),
        VolumeFigures(uid="ended", folder="kubernetes.io~csi/theirs", volume="data", **more),
    ]
    processes = Processes()
    disks = PodDisks(processes, logging.getLogger("test"))
    found = await disks.measure([["u", "/pods/u", "/logs"]], driven(by_drivers))
    put_driver_figures(found, by_drivers)
    volumes = found["u"]["volumes"]

    assert processes.measured == [f"{TOP}/other"], "a file system was asked for what a driver measures"
    figure = {"used_bytes": 5, "claim": "disk", "metric_source": "d.test", "seconds": 0.0}
    added = {} if figures is None else {"data": figure, "memory": figure}
    assert volumes == {"scratch": {"used_bytes": 1}, "other": {"used_bytes": 2}, **added}
