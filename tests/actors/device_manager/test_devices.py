"""Device plugins and the containers that use their devices. The plugins are real gRPC servers."""

from __future__ import annotations

import asyncio
import socket
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import grpc
import pytest

from actors.api_clients.heartbeat_client.messages import HEARTBEAT_CLIENT, DeviceResources
from actors.device_manager.checkpoint import NAME
from actors.device_manager.checkpoint_file import CHECKPOINT
from actors.device_manager.inventory import GRACE_SECONDS
from actors.device_manager.messages import (
    AllocateDevices,
    DeviceHints,
    DeviceRequest,
    DevicesAllocated,
    DevicesRefused,
    GetDeviceHints,
    GetDevices,
    ReleaseDevices,
)
from actors.pod_workers.messages import ShardPods
from actors.shared.hardware.allocation import NOTHING, AllocatedMount, DeviceSpec
from actors.shared.hardware.hints import TopologyHint
from actors.status_manager.messages import STATUS_MANAGER, DeviceHealth
from supervision.process_messages import Hello, ServiceState
from tests.support.device_node import THING, Node
from tests.support.device_plugin import HEALTHY, UNHEALTHY, FakeDevicePlugin


@pytest.fixture
def node() -> Iterator[Node]:
    with tempfile.TemporaryDirectory(prefix="devices-") as directory:  # short: a socket's path has 107 bytes
        yield Node(Path(directory))


def refused(text: str) -> DevicesRefused:
    return DevicesRefused(text)


# -- registration ------------------------------------------------------------------------------------------------------
async def test_a_plugin_that_registers_by_kubelet_sock_gives_the_node_its_devices(node: Node) -> None:
    async with node.harness:
        with node.plugin(devices={"a": HEALTHY, "b": UNHEALTHY}).running() as plugin:
            await node.join(plugin)
            await node.reported({THING: 2}, {THING: 1})
            plugin.set({"a": HEALTHY, "b": HEALTHY, "c": HEALTHY})
            await node.reported({THING: 3}, {THING: 3})
            assert node.checkpoint()["RegisteredDevices"] == {THING: ["a", "b", "c"]}
        await node.harness.stop()


async def test_a_plugin_registered_by_plugins_registry_is_notified(node: Node) -> None:
    async with node.harness:
        with node.plugin(by_registry=True).running() as plugin:
            await node.reported({THING: 2}, {THING: 2})
            await node.harness.wait(lambda: plugin.registrations == [(True, "")], timeout=30)
        await node.reported({THING: 2}, {THING: 0})
        await node.harness.stop()


@pytest.mark.parametrize(
    ("other", "text"),
    [
        ({"version": "v1"}, 'requested API version "v1" is not supported by kubelet. Supported version is ["v1beta1"]'),
        ({"resource_name": "cpu"}, 'the ResourceName "cpu" is invalid'),
        ({"endpoint": "../../x.sock"}, 'the endpoint "../../x.sock" is no socket in'),
        ({"endpoint": "a\0b"}, 'the endpoint "a\0b" is no socket in'),
        ({"endpoint": "none.sock"}, "failed to dial device plugin: no socket at"),
    ],
)
async def test_a_refused_plugin_gets_the_reason(node: Node, other: dict[str, str], text: str) -> None:
    async with node.harness:
        with node.plugin().running() as plugin:
            with pytest.raises(grpc.RpcError) as error:
                await asyncio.to_thread(plugin.register, **other)
            assert text in str(error.value)
            assert node.harness.sent(DeviceResources)[-1].capacity == {}
        await node.harness.stop()


async def test_a_standalone_agent_serves_devices_without_heartbeat_client(node: Node) -> None:
    async with node.life(standalone=True) as harness:
        with node.plugin().running() as plugin:
            await asyncio.to_thread(plugin.register)
            inventory = harness.actor._devices._inventory
            await harness.wait(lambda: inventory.capacity() == {THING: 2}, timeout=30)
            await harness.deliver(Hello(HEARTBEAT_CLIENT, 2))
            assert harness.sent(DeviceResources) == []
        await harness.stop()


async def test_a_new_heartbeat_client_gets_the_devices_of_the_node(node: Node) -> None:
    async with node.harness as harness:
        with node.plugin().running() as plugin:
            await node.join(plugin)
            harness.clear()
            await harness.deliver(Hello(STATUS_MANAGER, 2))
            assert harness.sent(DeviceResources) == []
            await harness.deliver(Hello(HEARTBEAT_CLIENT, 2))
            assert harness.sent(DeviceResources) == [DeviceResources({THING: 2}, {THING: 2})]
        await harness.stop()


async def test_a_plugin_of_another_version_is_refused_in_plugins_registry(node: Node) -> None:
    async with node.harness:
        with node.plugin(by_registry=True, versions=("v1alpha", "v2")).running() as plugin:
            await node.harness.wait(lambda: bool(plugin.registrations), timeout=30)
            text = "manager version, v1beta1, is not among plugin supported versions [v1alpha v2]"
            assert plugin.registrations[0] == (
                False,
                f"RegisterPlugin error -- plugin validation failed with err: {text}",
            )
        await node.harness.stop()


async def test_a_registration_that_is_far_too_long_is_refused(node: Node, caplog: pytest.LogCaptureFixture) -> None:
    async with node.harness:
        with node.plugin(by_registry=True, versions=("v1beta1",) * 20_000).running() as plugin:
            await node.harness.wait(lambda: "received message larger than max" in caplog.text.lower(), timeout=30)
            assert plugin.registrations == []
            plugin.versions = ("v1beta1",)
            await node.harness.advance(1.0)
            await node.reported({THING: 2})
        await node.harness.stop()


async def test_an_agent_that_starts_removes_the_sockets_of_plugins_and_keeps_other_files(node: Node) -> None:
    directory = Path(node.root, "device-plugins")
    with socket.socket(socket.AF_UNIX) as old:
        old.bind(str(directory / "old.sock"))
    (directory / "plugin.json").write_text("{}")
    (directory / NAME).write_text('{"Data":{"PodDeviceEntries":null,"RegisteredDevices":{}},"Checksum":0}')
    async with node.harness:
        assert sorted(one.name for one in directory.iterdir()) == [
            "DEPRECATION", "kubelet.sock", NAME, "plugin.json",
        ]  # fmt: skip
        await node.harness.stop()


# -- allocation --------------------------------------------------------------------------------------------------------
async def test_a_container_gets_what_the_plugin_answers(node: Node) -> None:
    async with node.harness:
        with node.plugin().running() as plugin:
            await node.join(plugin)
            answer = await node.allocate()
            assert answer.served
            assert answer.allocation.devices == (DeviceSpec("/dev/null", "/dev/thing-d0", "rw"),)
            assert answer.allocation.mounts == (AllocatedMount("/usr/share", "/things", read_only=True),)
            assert answer.allocation.environment == {"THINGS": "d0"}
            assert answer.allocation.annotations == {"vendor.test/things": "1"}
            assert node.checkpoint()["PodDeviceEntries"][0]["DeviceIDs"] == {"-1": ["d0"]}
            assert await node.allocate() == answer
            assert plugin.allocated() == [("d0",)]
        await node.harness.stop()


async def test_a_pod_whose_resources_no_plugin_serves_gets_nothing(node: Node) -> None:
    async with node.harness:
        assert await node.allocate() == DevicesAllocated(NOTHING)
        await node.harness.stop()


async def test_a_device_is_free_when_its_pod_is_released(node: Node) -> None:
    async with node.harness:
        with node.plugin().running() as plugin:
            await node.join(plugin)
            await node.allocate("u", count=2)
            text = f"requested number of devices unavailable for {THING}. Requested: 1, Available: 0"
            assert await node.allocate("v") == refused(text)
            await node.harness.deliver(ReleaseDevices("u"))
            assert isinstance(await node.allocate("v"), DevicesAllocated)
            assert await node.held() == {"v/c": {"d0"}}
        await node.harness.stop()


async def test_the_preferred_allocation_of_the_plugin_is_used(node: Node) -> None:
    async with node.harness:
        with node.plugin(preferred=["d1"]).running() as plugin:
            await node.join(plugin)
            await node.allocate()
            assert ("GetPreferredAllocation", ("d0", "d1")) in plugin.calls
            assert plugin.allocated() == [("d1",)]
        await node.harness.stop()


async def test_devices_on_the_nodes_of_the_affinity_are_chosen(node: Node) -> None:
    async with node.harness:
        with node.plugin(devices={"a@0": HEALTHY, "b@1": HEALTHY}).running() as plugin:
            await node.join(plugin)
            await node.allocate(mask=0b10)
            assert plugin.allocated() == [("b",)]
            assert node.checkpoint()["PodDeviceEntries"][0]["DeviceIDs"] == {"1": ["b"]}
            found = (await node.harness.deliver(GetDevices())).allocatable
            assert [(one.ids, one.nodes) for one in found] == [(["a"], [0]), (["b"], [1])]
        await node.harness.stop()


async def test_hints_name_the_nodes_where_devices_are_free(node: Node) -> None:
    async with node.harness:
        with node.plugin(devices={"a@0": HEALTHY, "b@1": HEALTHY}).running() as plugin:
            await node.join(plugin)
            request = DeviceRequest(uid="u", container="c", amounts={THING: 1, "other.test/x": 1})
            both = [TopologyHint(0b01, True), TopologyHint(0b10, True), TopologyHint(0b11, False)]
            assert await node.harness.deliver(GetDeviceHints(request)) == DeviceHints({THING: both})
            await node.allocate("v", mask=0b01)
            left = [TopologyHint(0b10, True), TopologyHint(0b11, False)]
            assert await node.harness.deliver(GetDeviceHints(request)) == DeviceHints({THING: left})
        await node.harness.stop()


async def test_a_container_has_the_devices_of_the_init_containers_before_it(node: Node) -> None:
    async with node.harness:
        with node.plugin().running() as plugin:
            await node.join(plugin)
            await node.allocate(container="init", count=2)
            await node.allocate(container="c", count=2, finished=["init"])
            assert await node.held() == {"u/init": {"d0", "d1"}, "u/c": {"d0", "d1"}}
            assert isinstance(await node.allocate(container="sidecar", finished=["init"]), DevicesRefused)
        await node.harness.stop()


async def test_a_device_that_needs_it_is_prepared_before_each_start(node: Node) -> None:
    async with node.harness:
        with node.plugin(pre_start=True).running() as plugin:
            await node.join(plugin)
            answer = await node.allocate()
            assert (await node.prepare()) == (await node.prepare()) == answer
            assert plugin.calls[-2:] == [("PreStartContainer", ("d0",))] * 2
            plugin.failing["PreStartContainer"] = "too hot"
            text = "device plugin PreStartContainer rpc failed with err: rpc error: code = Unknown desc = too hot"
            assert await node.prepare() == refused(text)
        await node.reported({THING: 2}, {THING: 0})
        text = f"device plugin PreStartContainer rpc failed with err: endpoint {THING} has been stopped"
        assert await node.prepare() == refused(text)
        await node.harness.stop()


# -- plugins that go, and come back ------------------------------------------------------------------------------------
async def test_devices_of_an_ended_plugin_are_not_allocated_and_are_removed_after_the_grace(node: Node) -> None:
    async with node.harness:
        with node.plugin().running() as plugin:
            await node.join(plugin)
            await node.allocate("u")
        await node.reported({THING: 2}, {THING: 0})
        text = f"no healthy devices present; cannot allocate unhealthy devices {THING}"
        assert await node.allocate("v") == refused(text)
        await node.harness.advance(GRACE_SECONDS - 1)
        await node.reported({THING: 2}, {THING: 0})
        await node.harness.advance(2)
        await node.reported({THING: 0}, {THING: 0})
        assert node.checkpoint()["RegisteredDevices"] == {}
        assert await node.held() == {"u/c": {"d0"}}
        assert await node.allocate("w") == refused(f"cannot allocate unregistered device {THING}")
        await node.harness.stop()


async def test_a_plugin_that_registers_again_takes_the_place_of_the_first(node: Node) -> None:
    async with node.harness:
        with node.plugin().running() as plugin:
            await node.join(plugin)
            await node.allocate("u")
            with FakeDevicePlugin(node.root, devices={"d0": HEALTHY, "new": HEALTHY, "x": HEALTHY}).running() as other:
                await node.join(other)
                await node.allocate("v")
                assert (plugin.allocated(), other.allocated()) == ([("d0",)], [("new",)])
        await node.harness.stop()


async def test_a_new_incarnation_finds_plugins_and_devices_of_the_last_one(node: Node) -> None:
    with ExitStack() as stack:
        async with node.harness:
            plugin = stack.enter_context(node.plugin().running())
            await node.join(plugin)
            await node.allocate("u")
        await node.kill()
        async with node.life():
            await node.reported({THING: 2}, {THING: 2})
            assert all(one.capacity for one in node.harness.sent(DeviceResources))
            assert await node.held() == {"u/c": {"d0"}}
            assert (await node.allocate("v")).allocation.environment == {"THINGS": "d1"}
            assert plugin.allocated() == [("d0",), ("d1",)]
            await node.harness.stop()


async def test_an_agent_that_is_started_again_waits_for_plugins_to_register(node: Node) -> None:
    with ExitStack() as stack:
        async with node.harness:
            plugin = stack.enter_context(node.plugin().running())
            await node.join(plugin)
            await node.allocate("u")
        await node.kill()
        async with node.life(incarnation=1):
            await node.reported({THING: 0}, {THING: 0})
            text = f"no healthy devices present; cannot allocate unhealthy devices {THING}"
            assert await node.allocate("u") == refused(text)
            assert (await node.allocate("u", running=True)).allocation.environment == {"THINGS": "d0"}
            plugin.stop()
            plugin.serve()
            await node.join(plugin)
            assert (await node.allocate("u")).allocation.environment == {"THINGS": "d0"}
            assert (await node.allocate("v")).allocation.environment == {"THINGS": "d1"}
            await node.harness.stop()


async def test_a_running_pod_whose_devices_are_not_known_is_given_none(node: Node) -> None:
    async with node.harness:
        with node.plugin().running() as plugin:
            await node.join(plugin)
            assert await node.allocate(running=True) == DevicesAllocated(NOTHING, served=["vendor.test/thing"])
            assert plugin.allocated() == []
        await node.harness.stop()


async def test_the_status_manager_gets_the_health_of_devices_of_pods(node: Node) -> None:
    def told() -> list[dict[str, Any]]:
        return [one.containers for one in node.harness.sent(DeviceHealth)]

    async with node.harness:
        with node.plugin().running() as plugin:
            await node.join(plugin)
            assert told() == []
            await node.allocate("u")
            assert told() == [{"c": {THING: {"d0": "Healthy"}}}]
            plugin.set({"d0": UNHEALTHY, "d1": HEALTHY})
            await node.harness.wait(lambda: len(told()) == 2, timeout=30)
            assert told()[-1] == {"c": {THING: {"d0": "Unhealthy"}}}
            await node.harness.deliver(Hello(STATUS_MANAGER, 2))
            assert told()[2:] == told()[1:2]
            await node.harness.deliver(ReleaseDevices("u"))
            assert told()[-1] == {}
        await node.harness.stop()


async def test_a_damaged_checkpoint_is_no_obstacle(node: Node) -> None:
    Path(node.root, "device-plugins", NAME).write_text("{")
    async with node.harness:
        with node.plugin().running() as plugin:
            await node.join(plugin)
            assert isinstance(await node.allocate(), DevicesAllocated)
        await node.harness.stop()


async def test_a_damaged_checkpoint_is_told_until_the_pods_of_that_time_are_gone_or_their_devices_known(
    node: Node,
) -> None:
    Path(node.root, "device-plugins", NAME).write_text("{")
    async with node.harness:
        with node.plugin().running() as plugin:
            await node.join(plugin)
            told = lambda: [one.text for one in node.harness.sent(ServiceState) if one.service == CHECKPOINT]  # noqa: E731
            await node.harness.deliver(ShardPods("w0", 2, ["old"]))
            await node.harness.deliver(ShardPods("w1", 2, ["other"]))
            await node.allocate("new")
            await node.harness.deliver(ShardPods("w0", 2, ["old", "new"]))
            await node.harness.deliver(ShardPods("w1", 2, []))
            (text,) = told()
            assert "devices of running pods are not known" in text
            await node.allocate("old")
            await node.harness.deliver(ShardPods("w1", 2, []))
            assert told() == [text, ""]
        await node.harness.stop()


async def test_devices_of_a_pod_that_no_worker_has_are_free(node: Node) -> None:
    async with node.harness:
        with node.plugin().running() as plugin:
            await node.join(plugin)
            await node.allocate("u")
        await node.harness.stop()
    async with node.life():
        await node.harness.deliver(ShardPods("w0", 2, []))
        assert await node.held() == {"u/c": {"d0"}}
        await node.harness.deliver(ShardPods("w1", 2, ["other"]))
        assert await node.held() == {}
        await node.harness.wait(lambda: node.checkpoint()["PodDeviceEntries"] is None, "it is written", timeout=30)
        await node.harness.stop()


async def test_a_pod_that_its_worker_has_not_reported_yet_keeps_its_devices(node: Node) -> None:
    async with node.harness:
        with node.plugin().running() as plugin:
            await node.join(plugin)
            await node.harness.deliver(ShardPods("w0", 1, []))
            await node.allocate("u")
            await node.harness.deliver(ShardPods("w0", 1, ["other"]))
            assert await node.held() == {"u/c": {"d0"}}
            await node.harness.deliver(ShardPods("w0", 1, ["u"]))
            await node.harness.deliver(ShardPods("w0", 1, []))
            assert await node.held() == {}
        await node.harness.stop()


# -- plugins that misbehave --------------------------------------------------------------------------------------------
async def test_a_plugin_that_never_answers_delays_no_other(node: Node) -> None:
    async with node.harness:
        with (
            node.plugin(resource="bad.test/x", hanging={"Allocate"}).running() as bad,
            node.plugin(resource="mute.test/x", hanging={"GetDevicePluginOptions"}).running() as mute,
            node.plugin().running() as good,
        ):
            await node.join(bad)
            register = asyncio.create_task(asyncio.to_thread(mute.register))
            await asyncio.to_thread(mute.wait_asked, "GetDevicePluginOptions")
            await node.join(good)
            request = DeviceRequest(uid="u", container="c", amounts={"bad.test/x": 2})
            waiting = node.harness.post(AllocateDevices(request=request))
            await asyncio.to_thread(bad.wait_asked, "Allocate")
            assert isinstance(await node.allocate("v"), DevicesAllocated)
            await node.harness.deliver(ReleaseDevices("u"))
            assert await waiting == refused("the pod was released meanwhile")
            bad.hanging.clear()
            assert isinstance(await node.allocate("w", amounts={"bad.test/x": 2}), DevicesAllocated)
            mute.ended.set()
            await register
        await node.harness.stop()


async def test_a_plugin_that_fails_or_answers_nothing_has_the_pod_refused_and_gives_nothing_away(node: Node) -> None:
    async with node.harness:
        with node.plugin(failing={"Allocate": "no luck"}).running() as plugin:
            await node.join(plugin)
            assert await node.allocate(count=2) == refused("rpc error: code = Unknown desc = no luck")
            plugin.failing.clear()
            plugin.empty = True
            assert await node.allocate(count=2) == refused("no containers return in allocation response ")
            plugin.empty = False
            assert isinstance(await node.allocate("v", count=2), DevicesAllocated)
        await node.harness.stop()


async def test_a_plugin_that_dies_amid_an_allocation_has_the_pod_refused(node: Node) -> None:
    async with node.harness:
        with node.plugin(dies=True).running() as plugin:
            await node.join(plugin)
            answer = await node.allocate()
            assert isinstance(answer, DevicesRefused)
            assert answer.message.startswith("rpc error: code = ")
            await node.reported({THING: 2}, {THING: 0})
            assert await node.held() == {}
        await node.harness.stop()


async def test_nonsense_about_nodes_and_preferences_is_ignored(node: Node) -> None:
    devices = {f"a@{2**62}": HEALTHY, "b@-5": HEALTHY}
    async with node.harness:
        with node.plugin(devices=devices, preferred=["none", "b"]).running() as plugin:
            await node.join(plugin)
            request = DeviceRequest(uid="u", container="c", amounts={THING: 1})
            assert await node.harness.deliver(GetDeviceHints(request)) == DeviceHints({THING: None})
            await node.allocate()
            assert plugin.allocated() == [("b",)]
        await node.harness.stop()


async def test_a_flooding_plugin_is_read_slowly_and_its_last_list_counts(node: Node) -> None:
    async with node.harness:
        with node.plugin().running() as plugin:
            await node.join(plugin)
            before = len(node.harness.sent(DeviceResources))
            for count in range(200):
                plugin.set({f"d{number}": HEALTHY for number in range(count % 7 + 1)})
            plugin.set({"last": HEALTHY})
            await node.reported({THING: 1}, {THING: 1})
            assert (await node.allocate()).allocation.environment == {"THINGS": "last"}
            assert len(node.harness.sent(DeviceResources)) - before < 200
        await node.harness.stop()
