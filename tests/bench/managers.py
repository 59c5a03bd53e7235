"""What eviction and the managers of hardware cost a node at rest, beside a tree without them.

The floor is the same agent without eviction manager and device manager, with the same number of pods. Then it runs as
it does by default, and with the static policies of CPUs and memory besides.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from actors.container_manager.cpu.state import CPU_STATE
from actors.container_manager.memory.state import MEMORY_STATE
from actors.shared.config.fields.kubelet_configuration import DEFAULT_EVICTION_HARD
from tests.support.runtime import RealRuntime

from . import footprint, pod_lifecycle
from .node import Node
from .report import Figure, median_of

SETTLE_SECONDS: Final = 15.0
"""Longer than from one round of the eviction manager and of the CPU manager to the next."""
WAYS: Final[dict[str, dict[str, Any]]] = {
    "without": {"evictionHard": dict.fromkeys(DEFAULT_EVICTION_HARD, "0%"), "localStorageCapacityIsolation": False},
    "eviction": {},
    "static": {
        "kubeReserved": {"cpu": "1", "memory": "100Mi"},
        "cpuManagerPolicy": "static",
        "memoryManagerPolicy": "Static",
        "reservedMemory": [{"numaNode": 0, "limits": {"memory": "200Mi"}}],
        "topologyManagerPolicy": "restricted",
    },
}
SHOWN: Final = {"eviction": "eviction on", "static": "static policies besides"}


class _Node(Node):
    way = ""

    @property
    def _program(self) -> list[str]:
        return [sys.executable, "-m", "tests.bench.without_managers"] if self.way == "without" else super()._program

    def start_as(self, way: str) -> None:
        """A policy does not begin with the state of another one."""
        self.way = way
        for name in (CPU_STATE, MEMORY_STATE):
            Path(self.home, "root", name).unlink(missing_ok=True)
        Path(self.home, "config.json").write_text(json.dumps({**self._configuration(), **WAYS[way]}))
        self.start()
        self.wait_whole()


def figures(runtime: RealRuntime, pods: int, rounds: int, seconds: float, say: Callable[[str], None]) -> list[Figure]:
    """Percent of a core and MiB. Raises NotInTime."""
    node = _Node(runtime, "managers")
    cpu: dict[str, list[float]] = {way: [] for way in WAYS}
    pss: dict[str, list[float]] = {way: [] for way in WAYS}
    try:
        for number in range(rounds):
            for way in WAYS:
                say(f"{pods} pods at rest, {SHOWN.get(way, 'no managers')}: round {number + 1} of {rounds}")
                node.start_as(way)
                names = list(asyncio.run(pod_lifecycle.start_pods(node, pods)))
                time.sleep(SETTLE_SECONDS)
                cpu[way].append(sum(footprint.cpu_percent(node, seconds).values()))
                pss[way].append(sum(footprint.pss_mib(node).values()))
                asyncio.run(pod_lifecycle.remove_pods(node, names))
                node.stop()
    finally:
        node.remove()
    found = []
    for way, shown in SHOWN.items():
        what = f"idle, {pods} pods, {shown}"
        found.append(median_of(f"managers.{way}.cpu", f"{what}: CPU", cpu[way], "%", cpu["without"]))
        found.append(median_of(f"managers.{way}.pss", f"{what}: PSS", pss[way], "MiB", pss["without"]))
    return found
