"""A node with a shutdown manager, and the pods that it asks about."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import msgspec

from actors.pod_workers.messages import KillPod
from actors.shared.config.agent import Agent
from actors.shared.config.fields.duration import Duration
from actors.shared.config.fields.kubelet_configuration import KubeletConfiguration
from actors.shutdown_manager.actor import (
    ShutdownManager,
)
from actors.shutdown_manager.messages import NodeShutdown
from actors.shutdown_manager.shutdown_state import FILE
from actors.status_manager.messages import GetLivePods, LivePod, LivePods
from supervision.testing.harness import Harness
from supervision.testing.virtual_clock import VirtualClock
from tests.support.system_bus import SystemBus

TOTAL, CRITICAL = 5, 2
SYSTEM = 2_000_000_000
NOW = 1_700_000_000.0


class Node:
    """The actor, and the pods that it asks about."""

    def __init__(
        self, folder: Path, bus: SystemBus, *, total: float = TOTAL, incarnation: int = 1, now: float = NOW
    ) -> None:
        (folder / "root").mkdir(exist_ok=True)
        config = KubeletConfiguration(
            shutdownGracePeriod=Duration(total), shutdownGracePeriodCriticalPods=Duration(CRITICAL)
        )
        agent = Agent(config=config, root_dir=str(folder / "root"), standalone=False, workers=2, node_name="n")
        clock = VirtualClock()
        self.state = folder / "root" / FILE
        self.pods: dict[str, LivePod] = {}
        self.complete = True
        self.harness = Harness(
            ShutdownManager,
            name="shutdown_manager",
            context=agent,
            arguments={"clock": clock, "wall": lambda: now, "drop_in_dir": str(bus.drop_in_dir)},
            clock=clock,
            incarnation=incarnation,
        )
        self.harness.answer(GetLivePods, lambda _: LivePods(list(self.pods.values()), complete=self.complete))

    def put(self, uid: str, priority: int = 0, *, static: bool = False) -> None:
        self.pods[uid] = LivePod(
            uid=uid, full_name=f"{uid}_default", static=static, priority=priority, grace_seconds=30, finished=False,
            status_written=True,
        )  # fmt: skip

    def change(self, uid: str, **fields: object) -> None:
        self.pods[uid] = msgspec.structs.replace(self.pods[uid], **fields)

    def killed(self) -> dict[str, int]:
        """Seconds of grace by UID."""
        return {order.uid: order.grace_seconds for order in self.harness.sent(KillPod)}

    def kept(self) -> list[str]:
        """By the file."""
        return list(json.loads(self.state.read_bytes()).get("pods", []))

    async def seen(self, bus: SystemBus, event: str, count: int = 1) -> None:
        await self.harness.wait(lambda: len(bus.seen(event)) >= count, event, timeout=20.0)

    async def locked(self, bus: SystemBus, count: int = 1) -> None:
        """Where that takes a pause of its own."""
        while len(bus.seen("lock")) < count:
            await self.harness.advance(0.1)
            await asyncio.sleep(0.01)

    async def begun(self, bus: SystemBus) -> None:
        """It holds its lock, and is told that the machine is shut down."""
        await self.seen(bus, "lock")
        bus.tell("begin")
        await self.turned(active=True)

    async def turned(self, *, active: bool, count: int = 1) -> None:
        where = lambda told: told.active is active  # noqa: E731
        await self.harness.wait_sent(NodeShutdown, to="container_manager", where=where, count=count, timeout=20.0)
        await self.harness.settle()
