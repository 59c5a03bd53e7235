"""Device plugins that answer with rubbish."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest

from actors.device_manager.messages import DevicesAllocated, DevicesRefused
from tests.support.device_node import THING, Node


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
            with pytest.raises(grpc.RpcError, match=text):
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
            await node.told({THING: 2}, {THING: 0})
            plugin.rubbish = {"ListAndWatch"}
            plugin.serve()
            await asyncio.to_thread(plugin.register)
            text = "the device plugin of vendor.test/thing is away: rpc error: code = Internal"
            await node.harness.wait(lambda: text in caplog.text, text, timeout=30)
            plugin.stop()
            plugin.rubbish = set()
            plugin.serve()
            await node.join(plugin)
            await node.told({THING: 2}, {THING: 2})
            assert isinstance(await node.allocate(), DevicesAllocated)
        await node.harness.stop()


async def test_a_plugin_whose_registration_is_no_message_is_asked_again(
    node: Node, caplog: pytest.LogCaptureFixture
) -> None:
    async with node.harness:
        with node.plugin(by_registry=True, rubbish={"GetInfo"}).running() as plugin:
            text = "failed to get plugin info using RPC GetInfo"
            await node.harness.wait(lambda: text in caplog.text, text, timeout=30)
            plugin.rubbish = set()
            await node.harness.advance(1)
            await node.join(plugin)
        await node.harness.stop()
