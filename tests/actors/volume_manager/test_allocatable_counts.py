"""When a driver is asked again how many volumes the node can have."""

from __future__ import annotations

import asyncio
from typing import Any, cast

from actors.api_clients.kube_client.messages import GetObject, ObjectRef, ObjectState
from actors.shared.kube.codec import encode
from actors.volume_manager.csi.allocatable import AllocatableCounts
from actors.volume_manager.csi.api_objects import ApiObjects
from actors.volume_manager.csi.drivers import CsiDrivers
from actors.volume_manager.csi.errors import CsiError
from supervision.actor import Actor
from supervision.testing.harness import Harness


class Nobody(Actor):
    pass


class Drivers:
    def __init__(self) -> None:
        self.names = ["d.test"]
        self.calls: list[str] = []
        self.fails = False
        self.slow = asyncio.Event()
        self.slow.set()

    async def refresh(self, name: str) -> None:
        self.calls.append(name)
        await self.slow.wait()
        if self.fails:
            raise CsiError("no answer")


class Node:
    def __init__(self) -> None:
        self.drivers = Drivers()
        self.spec: dict[str, Any] | None = {}
        """Of the CSIDriver; None: the API server does not answer."""
        self.harness = Harness(Nobody, name="volume_manager", context=None)
        self.harness.answer(GetObject, self._answer)
        used = cast(CsiDrivers, self.drivers)
        self.counts = AllocatableCounts(self.harness.actor, used, ApiObjects(self.harness.actor))

    def _answer(self, message: GetObject) -> ObjectState:
        assert message.ref == ObjectRef("CSIDriver", "d.test")
        if self.spec is None:
            return ObjectState(message.ref, reason="Unreachable", message="gone")
        return ObjectState(message.ref, encode({"metadata": {"name": "d.test"}, "spec": self.spec}))

    async def look(self, **spec: Any) -> None:
        self.spec = spec
        await self.counts.look()


async def test_the_allocatable_count_of_a_driver_is_requested_in_a_period_that_may_change_or_end() -> None:
    node = Node()
    async with node.harness as harness:
        await node.look()
        await harness.advance(1000.0)
        assert node.drivers.calls == []
        await node.look(nodeAllocatableUpdatePeriodSeconds=60)
        await harness.advance(59.0)
        assert node.drivers.calls == []
        await harness.advance(121.0)
        assert len(node.drivers.calls) == 3
        await node.look(nodeAllocatableUpdatePeriodSeconds=10)
        await harness.advance(20.0)
        assert len(node.drivers.calls) == 5
        node.spec = None
        await node.counts.look()
        await harness.advance(10.0)
        assert len(node.drivers.calls) == 6, "while the server is away the period holds"
        await node.look()
        await harness.advance(1000.0)
        assert len(node.drivers.calls) == 6


async def test_frequent_checks_do_not_restart_the_period() -> None:
    node = Node()
    async with node.harness as harness:
        for _ in range(6):
            await node.look(nodeAllocatableUpdatePeriodSeconds=60)
            await harness.advance(20.0)
        assert len(node.drivers.calls) == 2


async def test_the_allocatable_count_of_a_removed_driver_is_not_requested() -> None:
    node = Node()
    async with node.harness as harness:
        await node.look(nodeAllocatableUpdatePeriodSeconds=10)
        node.drivers.names = []
        await node.look(nodeAllocatableUpdatePeriodSeconds=10)
        await harness.advance(100.0)
        assert node.drivers.calls == []


async def test_a_driver_that_hangs_or_fails_has_one_call_at_a_time() -> None:
    node = Node()
    async with node.harness as harness:
        node.drivers.slow.clear()
        node.drivers.fails = True
        for _ in range(3):
            node.counts.ask("d.test")
            await harness.settle()
        assert node.drivers.calls == ["d.test"]
        node.drivers.slow.set()
        await harness.settle()
        node.counts.ask("d.test")
        await harness.settle()
        assert node.drivers.calls == ["d.test", "d.test"]
