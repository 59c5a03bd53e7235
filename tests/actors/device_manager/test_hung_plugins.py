"""Plugins that never answer: devices are reserved before they are asked, and others go on."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from actors.device_manager import allocations
from actors.device_manager.messages import (
    AllocateDevices,
    DeviceHints,
    DeviceRequest,
    DevicesAllocated,
    DevicesRefused,
    DevicesReserved,
    GetDeviceHints,
    ReleaseDevices,
    ReserveDevices,
)
from actors.pod_workers.messages import ShardPods
from actors.shared.hardware.hints import TopologyHint
from tests.support.device_node import THING, Node
from tests.support.device_plugin import HEALTHY

FOUR = dict.fromkeys(["a@0", "b@0", "c@1", "d@1"], HEALTHY)
WORKER = "pod_workers/worker/0"


@pytest.fixture
def node() -> Iterator[Node]:
    with tempfile.TemporaryDirectory(prefix="devices-") as directory:  # short: a socket's path has 107 bytes
        yield Node(Path(directory))


def asks(uid: str, count: int = 1, resource: str = THING) -> DeviceRequest:
    return DeviceRequest(uid=uid, container="c", amounts={resource: count})


async def nodes(node: Node, uid: str, count: int) -> list[TopologyHint]:
    found: DeviceHints = await node.harness.deliver(GetDeviceHints(asks(uid, count)))
    return list(found.hints[THING] or ())


async def reserve(node: Node, uid: str, count: int = 1, mask: int | None = None) -> DevicesReserved | DevicesRefused:
    found: DevicesReserved | DevicesRefused = await node.harness.deliver(
        ReserveDevices(request=asks(uid, count), mask=mask)
    )
    return found


async def test_reserved_devices_stay_exclusive_while_the_plugin_never_answers(node: Node) -> None:
    async with node.harness:
        with node.plugin(devices=FOUR, preferred=[], hanging={"GetPreferredAllocation"}).running() as plugin:
            await node.join(plugin)
            assert await reserve(node, "u", 2, mask=0b10) == DevicesReserved(served=True)
            assert await reserve(node, "u", 2, mask=0b10) == DevicesReserved(served=True), "asked again"
            hung = node.harness.post(AllocateDevices(request=asks("u", 2), mask=0b11))
            await asyncio.to_thread(plugin.wait_asked, "GetPreferredAllocation")
            assert await nodes(node, "v", 2) == [TopologyHint(0b01, True), TopologyHint(0b11, False)]
            assert await reserve(node, "v", 2, mask=0b01) == DevicesReserved(served=True)
            text = f"requested number of devices unavailable for {THING}. Requested: 1, Available: 0"
            assert await reserve(node, "w") == DevicesRefused(text)
            plugin.preferred = ["a", "d"]
            plugin.hanging.clear()
            assert isinstance(await hung, DevicesAllocated)
            assert isinstance(await node.allocate("v", count=2, mask=0b01), DevicesAllocated)
            assert await node.held() == {"u/c": {"c", "d"}, "v/c": {"a", "b"}}
        await node.harness.stop()


async def test_an_init_container_is_given_the_device_that_was_reserved_for_it_and_for_the_next_one(node: Node) -> None:
    first = DeviceRequest(uid="u", container="init", amounts={THING: 1})
    second = DeviceRequest(uid="u", container="c", amounts={THING: 1}, finished=["init"])
    async with node.harness:
        with node.plugin(devices={"a@0": HEALTHY, "b@1": HEALTHY}).running() as plugin:
            await node.join(plugin)
            for request in (first, second):
                question = ReserveDevices(request=request, mask=0b01)
                assert await node.harness.deliver(question) == DevicesReserved(served=True)
            assert await reserve(node, "v", mask=0b10) == DevicesReserved(served=True)
            for request in (first, second):
                answer = await node.harness.deliver(AllocateDevices(request=request, mask=0b01), timeout=30)
                assert isinstance(answer, DevicesAllocated)
            assert await node.held() == {"u/init": {"a"}, "u/c": {"a"}}
        await node.harness.stop()


async def test_a_repeated_question_does_not_change_a_running_allocation(node: Node) -> None:
    async with node.harness:
        with node.plugin(devices=FOUR, preferred=["d"], hanging={"Allocate"}).running() as plugin:
            await node.join(plugin)
            await reserve(node, "u")
            first = node.harness.post(AllocateDevices(request=asks("u")))
            await asyncio.to_thread(plugin.wait_asked, "Allocate")
            assert await nodes(node, "u", 1) == [TopologyHint(0b10, True), TopologyHint(0b11, False)]
            assert await reserve(node, "u", mask=0b01) == DevicesReserved(served=True)
            second = node.harness.post(AllocateDevices(request=asks("u"), mask=0b01))
            assert await reserve(node, "v", 3) == DevicesReserved(served=True)
            assert isinstance(await reserve(node, "w"), DevicesRefused)
            plugin.hanging.clear()
            assert await first == await second
            assert await node.held() == {"u/c": {"d"}}
        await node.harness.stop()


async def test_reservations_end_with_their_pod_by_any_report(node: Node) -> None:
    async with node.harness as harness:
        with node.plugin().running() as plugin:
            await node.join(plugin)
            await reserve(node, "u", 2)
            await harness.deliver(ReleaseDevices("u"))
            assert await reserve(node, "v", 2) == DevicesReserved(served=True)
            await harness.deliver(ShardPods(WORKER, 1, ["v"]))
            await harness.deliver(ShardPods(WORKER, 1, []))
            assert await reserve(node, "w", 2) == DevicesReserved(served=True)
            plugin.failing = {"Allocate": "out of order"}
            assert isinstance(await node.allocate("w", count=2), DevicesRefused)
            assert await reserve(node, "x", 2) == DevicesReserved(served=True)
        await harness.stop()


async def test_a_resource_that_no_plugin_serves_is_not_reserved(node: Node) -> None:
    async with node.harness as harness:
        found = await harness.deliver(ReserveDevices(request=asks("u", resource="vendor.test/none")))
        assert found == DevicesReserved(served=False)
        await harness.stop()


async def test_a_pod_that_is_released_while_earlier_plugins_are_awaited_reserves_nothing(node: Node) -> None:
    with ExitStack() as stack:
        async with node.harness:
            plugin = stack.enter_context(node.plugin().running())
            await node.join(plugin)
        await node.kill()
        plugin.hanging = {"GetDevicePluginOptions"}
        async with node.life() as harness:
            waiting = harness.post(ReserveDevices(request=asks("u", 2)))
            await asyncio.to_thread(plugin.wait_asked, "GetDevicePluginOptions", 2)
            await harness.deliver(ReleaseDevices("u"))
            assert await asyncio.wait_for(waiting, 30) == DevicesRefused("the pod was released meanwhile")
            plugin.hanging = set()
            await node.reported({THING: 2}, {THING: 2})
            assert await reserve(node, "v", 2) == DevicesReserved(served=True)
            await harness.stop()


async def test_hints_wait_for_the_plugins_of_the_last_incarnation(node: Node) -> None:
    with ExitStack() as stack:
        async with node.harness:
            plugin = stack.enter_context(node.plugin(devices=FOUR).running())
            await node.join(plugin)
        await node.kill()
        plugin.hanging = {"GetDevicePluginOptions"}
        async with node.life() as harness:
            waiting = harness.post(GetDeviceHints(asks("u", 2)))
            await asyncio.to_thread(plugin.wait_asked, "GetDevicePluginOptions", 2)
            assert not waiting.done(), "no devices would be no opinion: the pod would start anywhere"
            plugin.hanging = set()
            found = await asyncio.wait_for(waiting, 30)
            assert found.hints[THING] == [
                TopologyHint(0b01, True), TopologyHint(0b10, True), TopologyHint(0b11, False)
            ]  # fmt: skip
            await harness.stop()


async def test_questions_do_not_pile_up_behind_a_plugin_that_never_answers(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with node.harness as harness:
        with node.plugin(hanging={"Allocate"}).running() as plugin:
            await node.join(plugin)
            first = harness.post(AllocateDevices(request=asks("u")))
            await asyncio.to_thread(plugin.wait_asked, "Allocate")
            monkeypatch.setattr(allocations, "LOCK_SECONDS", 0.01)
            again = [harness.post(AllocateDevices(request=asks("u"))) for _ in range(20)]
            assert {await asyncio.wait_for(one, 30) for one in again} == {
                DevicesRefused(allocations.EARLIER_UNANSWERED)
            }
            plugin.hanging.clear()
            assert isinstance(await first, DevicesAllocated)
            assert plugin.allocated() == [("d0",)]
        await harness.stop()
