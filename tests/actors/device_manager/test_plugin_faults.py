"""Device plugins that answer with rubbish, and questions that are asked twice."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import grpc
import pytest

from actors.device_manager.messages import (
    AllocateDevices,
    DeviceRequest,
    DevicesAllocated,
    DevicesRefused,
    ReleaseDevices,
)
from actors.device_manager.plugin_client import MOST_RESPONSE_BYTES
from tests.support.device_node import THING, Node
from tests.support.device_plugin import HEALTHY


@pytest.fixture
def node() -> Iterator[Node]:
    with tempfile.TemporaryDirectory(prefix="devices-") as directory:  # short: a socket's path has 107 bytes
        yield Node(Path(directory))


def refused(text: str) -> DevicesRefused:
    return DevicesRefused(text)


async def test_answers_that_are_no_messages_are_failures_of_the_plugin_and_give_nothing_away(node: Node) -> None:
    text = "rpc error: code = Internal desc = the answer cannot be read"
    async with node.harness:
        with node.plugin(preferred=["d1"], pre_start=True).running() as plugin:
            plugin.rubbish = {"GetDevicePluginOptions"}
            with pytest.raises(grpc.RpcError, match=f"failed to get device plugin options: {text}"):
                await asyncio.to_thread(plugin.register)
            plugin.rubbish = {"GetPreferredAllocation", "Allocate", "PreStartContainer"}
            await node.join(plugin)
            assert await node.allocate() == refused(f"device plugin GetPreferredAllocation rpc failed with err: {text}")
            plugin.rubbish.remove("GetPreferredAllocation")
            assert await node.allocate(count=2) == refused(text)
            plugin.rubbish.remove("Allocate")
            assert isinstance(await node.allocate(count=2), DevicesAllocated)
            assert await node.prepare(count=2) == refused(
                f"device plugin PreStartContainer rpc failed with err: {text}"
            )
        await node.harness.stop()


async def test_a_list_of_devices_that_is_no_message_ends_the_plugin_alone(
    node: Node, caplog: pytest.LogCaptureFixture
) -> None:
    async with node.harness:
        with node.plugin().running() as plugin:
            await node.join(plugin)
            plugin.stop()
            await node.reported({THING: 2}, {THING: 0})
            plugin.rubbish = {"ListAndWatch"}
            plugin.serve()
            await asyncio.to_thread(plugin.register)
            text = "the device plugin of vendor.test/thing is away: rpc error: code = Internal"
            await node.harness.wait(lambda: text in caplog.text, text, timeout=30)
            plugin.stop()
            plugin.rubbish = set()
            plugin.serve()
            await node.join(plugin)
            await node.reported({THING: 2}, {THING: 2})
            assert isinstance(await node.allocate(), DevicesAllocated)
        await node.harness.stop()


async def test_an_invalid_registration_message_is_retried(node: Node, caplog: pytest.LogCaptureFixture) -> None:
    async with node.harness:
        with node.plugin(by_registry=True, rubbish={"GetInfo"}).running() as plugin:
            text = "failed to get plugin info using RPC GetInfo"
            await node.harness.wait(lambda: text in caplog.text, text, timeout=30)
            plugin.rubbish = set()
            await node.harness.advance(1)
            await node.join(plugin)
        await node.harness.stop()


async def test_a_repeated_question_gives_the_container_the_same_devices(node: Node) -> None:
    async with node.harness:
        with node.plugin(devices=dict.fromkeys("abcd", HEALTHY), hanging={"Allocate"}).running() as plugin:
            await node.join(plugin)
            request = DeviceRequest(uid="u", container="c", amounts={THING: 2})
            first = node.harness.post(AllocateDevices(request=request))
            await asyncio.to_thread(plugin.wait_asked, "Allocate")
            second = node.harness.post(AllocateDevices(request=request))
            other = node.harness.post(
                AllocateDevices(request=DeviceRequest(uid="v", container="c", amounts={THING: 2}))
            )
            await asyncio.to_thread(plugin.wait_asked, "Allocate", 2)
            plugin.hanging.clear()
            answers = [await first, await second, await other]
            assert all(isinstance(one, DevicesAllocated) for one in answers), answers
            assert answers[0] == answers[1]
            held = await node.held()
            assert sorted([*held["u/c"], *held["v/c"]]) == ["a", "b", "c", "d"]
        await node.harness.stop()


async def test_a_pod_that_is_released_while_earlier_plugins_are_awaited_gets_nothing(node: Node) -> None:
    with ExitStack() as stack:
        async with node.harness:
            plugin = stack.enter_context(node.plugin().running())
            await node.join(plugin)
        await node.kill()
        plugin.hanging = {"GetDevicePluginOptions"}
        async with node.life() as harness:
            request = DeviceRequest(uid="u", container="c", amounts={THING: 1})
            waiting = harness.post(AllocateDevices(request=request))
            await asyncio.to_thread(plugin.wait_asked, "GetDevicePluginOptions", 2)
            await harness.deliver(ReleaseDevices("u"))
            assert await asyncio.wait_for(waiting, 30) == refused("the pod was released meanwhile")
            plugin.hanging = set()
            await harness.stop()


async def test_an_answer_that_is_too_large_is_refused_and_is_in_no_checkpoint(node: Node) -> None:
    async with node.harness:
        with node.plugin(environment={"MUCH": "x" * MOST_RESPONSE_BYTES}).running() as plugin:
            await node.join(plugin)
            answer = await node.allocate()
            assert isinstance(answer, DevicesRefused)
            assert answer.message.startswith("the answer to Allocate has 65")
            plugin.environment = {"LESS": "x" * (MOST_RESPONSE_BYTES - 1000)}
            assert isinstance(await node.allocate("v"), DevicesAllocated)
        await node.harness.stop()
