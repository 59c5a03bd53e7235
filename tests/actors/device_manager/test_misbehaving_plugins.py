"""Plugins that flood, send too much, or fight for a resource: they cost nobody else, and memory stays bounded."""

from __future__ import annotations

import asyncio
import socket
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import grpc
import pytest

from actors.device_manager import inventory, plugin_client, plugins, registration
from actors.device_manager.inventory import Device
from actors.device_manager.messages import DevicesAllocated
from actors.device_manager.registration_service import CALLS_OF_A_CONNECTION
from actors.shared.plugins.registration_permits import AT_ONCE, HURRIED_SECONDS
from proto import device_plugin_pb2 as api
from proto import device_plugin_pb2_grpc as stubs
from tests.support.device_node import THING, Node
from tests.support.device_plugin import HEALTHY, UNHEALTHY, FakeDevicePlugin

pytestmark = pytest.mark.slow

OTHER = "vendor.test/other"


@pytest.fixture
def node() -> Iterator[Node]:
    with tempfile.TemporaryDirectory(prefix="devices-") as directory:  # short: a socket's path has 107 bytes
        yield Node(Path(directory))


def channel_to(node: Node) -> grpc.Channel:
    """A connection of its own to kubelet.sock."""
    options = [("grpc.default_authority", "localhost"), ("grpc.use_local_subchannel_pool", 1)]
    return grpc.insecure_channel(f"unix://{node.root}/device-plugins/kubelet.sock", options=options)


async def gets_a_device(node: Node, uid: str) -> None:
    """A pod of the other plugin, which behaves."""
    assert isinstance(await node.allocate(uid, amounts={OTHER: 1}), DevicesAllocated)


async def test_a_flood_of_lists_delays_no_pod_of_another_plugin(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    many = [f"device-{number}" for number in range(2000)]
    ended, sent, read = threading.Event(), list[int](), list[int]()

    def flood(plugin: FakeDevicePlugin) -> None:
        while not ended.wait(0.001):
            plugin.set(dict.fromkeys(many, UNHEALTHY if len(sent) % 2 else HEALTHY))
            sent.append(1)

    async with node.harness:
        devices = dict.fromkeys("abcdefgh", HEALTHY)
        with node.plugin(devices=dict.fromkeys(many, HEALTHY)).running() as plugin, \
             node.plugin(resource=OTHER, devices=devices).running() as other:  # fmt: skip
            await node.join(plugin)
            await node.join(other)
            known = node.harness.actor._devices._inventory
            reported = known.reported

            def noted(resource: str, devices: Mapping[str, Device]) -> None:
                read.append(1)
                reported(resource, devices)

            monkeypatch.setattr(known, "reported", noted)
            flooding = asyncio.ensure_future(asyncio.to_thread(flood, plugin))
            try:
                await node.harness.wait(lambda: len(read) >= 10, "the flood", timeout=30)
                for uid in "stuvwxyz":
                    await gets_a_device(node, uid)
            finally:
                ended.set()
                await flooding
            plugin.set({"last": HEALTHY})
            await node.reported({THING: 1, OTHER: 8}, {THING: 1})
        await node.harness.stop()


@pytest.mark.parametrize(("count", "name"), [(plugin_client.MOST_DEVICES + 1, ""), (1, "x" * 1024), (20, "x" * 2**20)])
async def test_a_list_that_is_too_long_ends_its_plugin_alone(
    node: Node, count: int, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with node.harness:
        with node.plugin().running() as plugin, node.plugin(resource=OTHER).running() as other:
            await node.join(plugin)
            await node.join(other)
            plugin.set({f"{number}{name}": HEALTHY for number in range(count)})
            await node.reported({THING: 2, OTHER: 2}, {THING: 0, OTHER: 2})
            await gets_a_device(node, "u")
            assert "the device plugin of vendor.test/thing is away: " in caplog.text
        await node.harness.stop()


async def test_a_list_that_is_too_large_beside_those_of_others_ends_its_plugin_alone(
    node: Node, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(inventory, "MOST_BYTES", 2000)
    monkeypatch.setattr(inventory, "SMALL_BYTES", 500)
    async with node.harness:
        with node.plugin().running() as plugin, node.plugin(resource=OTHER).running() as other:
            await node.join(plugin)
            await node.join(other)
            plugin.set({str(number): HEALTHY for number in range(100)})
            await node.reported({THING: 2, OTHER: 2}, {THING: 0, OTHER: 2})
            await gets_a_device(node, "u")
            assert (
                "is away: its list of devices takes 3390 bytes, those of others 68, and 2000 are the most"
                in caplog.text
            )
        await node.harness.stop()


async def test_a_short_list_of_devices_waits_for_no_long_one(node: Node) -> None:
    many = {str(number): HEALTHY for number in range(plugins.SMALL_LIST + 1)}
    async with node.harness:
        with node.plugin(devices=many).running() as plugin, node.plugin(resource=OTHER).running() as other:
            manager = node.harness.actor._devices.node
            async with manager.plugins._time._turn:  # a long list of another one is read
                await asyncio.to_thread(plugin.register)
                await asyncio.to_thread(plugin.wait_asked, "ListAndWatch")
                await node.join(other)
                assert manager.inventory.capacity()[THING] == 0
            await node.reported({THING: len(many)})
        await node.harness.stop()


async def test_the_newer_of_two_plugins_of_a_resource_serves_it(node: Node) -> None:
    async with node.harness:
        first = node.plugin(devices={"a": HEALTHY})
        second = node.plugin(devices={"x": HEALTHY, "y": HEALTHY}, socket="second.sock")
        with first.running(), second.running():
            await node.join(first)
            assert isinstance(await node.allocate("u"), DevicesAllocated)
            await node.join(second)
            await asyncio.to_thread(first.wait_answered, "ListAndWatch")
            assert isinstance(await node.allocate("v"), DevicesAllocated)
            assert await node.held() == {"u/c": {"a"}, "v/c": {"x"}}
            await node.join(first)
            await node.reported({THING: 1}, {THING: 1})
            assert isinstance(await node.allocate("u"), DevicesAllocated)
        await node.harness.stop()


async def test_a_plugin_that_registers_again_and_again_keeps_its_devices_and_piles_nothing_up(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plugins, "REGISTRATIONS_A_SECOND", 20.0)
    async with node.harness:
        with node.plugin().running() as plugin, node.plugin(resource=OTHER).running() as other:
            await node.join(plugin)
            await node.join(other)
            before = len(asyncio.all_tasks())
            assert isinstance(await node.allocate("u"), DevicesAllocated)
            for _ in range(30):
                await asyncio.to_thread(plugin.register)
            await gets_a_device(node, "v")
            await node.reported({THING: 2, OTHER: 2}, {THING: 2, OTHER: 2})
            assert await node.held() == {"u/c": {"d0"}, "v/c": {"d0"}}
            await node.harness.wait(lambda: len(asyncio.all_tasks()) <= before + 2, "tasks have ended", timeout=30)
        await node.harness.stop()


async def test_hanging_registrations_are_cancelled_for_the_next_ones_and_delay_no_other_plugin(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plugin_client, "OPTIONS_SECONDS", 600.0)

    def try_to_register(plugin: FakeDevicePlugin) -> None:
        with suppress(grpc.RpcError):
            plugin.register()

    async with node.harness:
        with node.plugin(hanging={"GetDevicePluginOptions"}).running() as plugin, \
             node.plugin(resource=OTHER).running() as other:  # fmt: skip
            waiting = []
            for _ in range(5):
                waiting.append(asyncio.ensure_future(asyncio.to_thread(try_to_register, plugin)))
                await asyncio.to_thread(plugin.wait_asked, "GetDevicePluginOptions", len(waiting))
            await asyncio.wait(waiting[:4], timeout=30)
            assert [one.done() for one in waiting] == [True] * 4 + [False]
            await node.join(other)
            await gets_a_device(node, "u")
            plugin.hanging.clear()
            await node.reported({THING: 2, OTHER: 2})
            await asyncio.wait(waiting, timeout=30)
        await node.harness.stop()


async def test_many_registrations_that_hang_keep_no_plugin_waiting(node: Node) -> None:
    count = 16 * CALLS_OF_A_CONNECTION
    with ExitStack() as stack:
        channels = [stack.enter_context(channel_to(node)) for _ in range(16)]
        async with node.harness:
            calls = []
            for number in range(count):
                silent = stack.enter_context(socket.socket(socket.AF_UNIX))
                silent.bind(f"{node.root}/device-plugins/{number}.sock")
                silent.listen(1)  # connections are taken, and nothing is ever said
                stub: Any = stubs.RegistrationStub(channels[number % 16])
                request = api.RegisterRequest(
                    version="v1beta1", endpoint=f"{number}.sock", resource_name=f"vendor.test/{number}"
                )
                calls.append(stub.Register.future(request, timeout=60, wait_for_ready=True))
            permits = node.harness.actor._devices.node.plugins._dials._permits
            await node.harness.wait(lambda: permits._waiting == count - AT_ONCE, "others wait", timeout=30)
            with node.plugin(resource=OTHER).running() as other:
                joining = asyncio.ensure_future(node.join(other))
                await node.harness.wait(lambda: permits._waiting == count + 1 - AT_ONCE, "the good one", timeout=30)
                for number in range(1, count // AT_ONCE + 1):
                    await node.harness.advance(HURRIED_SECONDS)
                    left = max(0, count + 1 - (number + 1) * AT_ONCE)
                    await node.harness.wait(lambda left=left: permits._waiting <= left, timeout=30)  # type: ignore[misc]
                await asyncio.wait_for(joining, 30)
                await gets_a_device(node, "u")
                hurried = "other plugins wait for their turn"
                await node.harness.wait(lambda: any(c.done() and hurried in c.details() for c in calls), timeout=30)
            for call in calls:
                call.cancel()
            await node.harness.stop()


@pytest.mark.parametrize("resource", [
    "cpu", "thing", "vendor.test/", "/thing", "kubernetes.io/thing", "x.kubernetes.io/thing", "vendor.test/a/b",
    "requests.vendor.test/thing", "Vendor.test/thing", "vendor.test/th ing", "vendor.test/" + "x" * 64,
    "x" * 300 + "/y",
])  # fmt: skip
async def test_a_resource_whose_name_is_invalid_is_refused_by_both_ways(node: Node, resource: str) -> None:
    async with node.harness:
        refused = pytest.raises(grpc.RpcError, match=r"the ResourceName .* is invalid")
        with node.plugin().running() as plugin, refused:
            await asyncio.to_thread(plugin.register, resource_name=resource)
        with node.plugin(by_registry=True, resource=resource, socket="thing.sock").running() as plugin:
            await node.harness.wait(lambda: bool(plugin.registrations), timeout=30)
            registered, error = plugin.registrations[0]
            assert not registered
            assert f'the ResourceName "{resource}" is invalid' in error
        await node.harness.stop()


async def test_a_plugin_whose_endpoint_is_no_path_ends_no_other_one(
    node: Node, caplog: pytest.LogCaptureFixture
) -> None:
    async with node.harness:
        with node.plugin(by_registry=True, resource=OTHER, told_path="/run/x\0.sock").running() as broken:
            text = "the endpoint '/run/x\\x00.sock' is no path of a socket"
            await node.harness.wait(lambda: text in caplog.text, timeout=30)
            assert not broken.registrations
            with node.plugin().running() as plugin:
                await node.join(plugin)
                await gets_a_device(node, "u")
        await node.harness.stop()


async def test_a_question_that_is_far_too_long_is_refused_and_the_node_takes_only_so_many_resources(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plugins, "MOST_RESOURCES", 1)
    async with node.harness:
        with node.plugin().running() as plugin, node.plugin(resource=OTHER).running() as other:
            with pytest.raises(grpc.RpcError) as error:
                await asyncio.to_thread(plugin.register, resource_name="x" * 2**20)
            assert error.value.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
            await node.join(plugin)
            with pytest.raises(grpc.RpcError, match="the node has 1 resources of device plugins, and takes no more"):
                await asyncio.to_thread(other.register)
            await node.join(plugin)
        await node.harness.stop()


async def test_registrations_of_invented_resources_leave_nothing_behind(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registration, "MOST_RESOURCES", 5)
    async with node.harness:
        plugin = node.plugin()
        for number in range(8):
            with pytest.raises(grpc.RpcError):
                await asyncio.to_thread(plugin.register, resource_name=f"vendor.test/n{number}", endpoint="nobody")
        actor = node.harness.actor
        assert actor._devices.node.plugins._latest == {}
        samples = actor.metrics.snapshot("a", 1).samples
        assert len([one for one in samples if one.name.startswith("kubelet_device_plugin_registration")]) == 5
        await node.harness.stop()
