"""Drivers prepare the claims of pods before their sandbox is made, and unprepare them once when they have ended."""

from __future__ import annotations

import asyncio
import json
import tempfile
import zlib
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from actors.api_clients.kube_client.messages import ApiAnswer, ApiCall
from actors.device_manager.actor import DeviceManager
from actors.device_manager.messages import (
    ClaimDevices,
    ClaimsFailed,
    ClaimsPrepared,
    ClaimsUnprepared,
    GetClaimDevices,
    PrepareClaims,
    UnprepareClaims,
)
from actors.pod_workers.messages import ShardPods
from actors.shared.config.agent import Agent
from actors.shared.config.fields.kubelet_configuration import KubeletConfiguration
from actors.status_manager.messages import STATUS_MANAGER, ClaimedDeviceHealth, ClaimedDevices
from supervision.process_messages import Hello
from supervision.testing.harness import Harness
from tests.support.dra_driver import SampleDriver

NAME = "gpu.example.com"
WORKER = "pod_workers/worker/0"


class Node:
    """A device manager, an API server with claims, and what a worker would ask."""

    def __init__(self, root_dir: Path) -> None:
        self.root_dir = root_dir
        (root_dir / "plugins_registry").mkdir(exist_ok=True)
        self.claims: dict[str, Any] = {}
        self.deleted: list[str] = []
        self.api_away = False
        self.refused: set[str] = set()
        """Claims whose next request is refused."""

    def claim(self, name: str, *pods: str, drivers: tuple[str, ...] = (NAME,), uid: str = "") -> None:
        results = [{"request": "gpu", "driver": driver, "pool": "pool", "device": "gpu-0"} for driver in drivers]
        self.claims[name] = {
            "metadata": {"name": name, "namespace": "shop", "uid": uid or f"uid-of-{name}"},
            "status": {
                "allocation": {"devices": {"results": results}},
                "reservedFor": [{"resource": "pods", "name": pod, "uid": pod} for pod in pods],
            },
        }

    @asynccontextmanager
    async def manager(self, **config: Any) -> AsyncIterator[Harness[DeviceManager]]:
        agent = Agent(
            root_dir=str(self.root_dir),
            run_dir=f"{self.root_dir}/run",
            node_name="node-1",
            standalone=False,
            config=KubeletConfiguration(**config),
        )
        harness = Harness(DeviceManager, name="device_manager", context=agent)
        harness.answer(ApiCall, self._api)
        async with harness:
            yield harness
            await harness.stop()

    def _api(self, call: ApiCall) -> ApiAnswer:
        if self.api_away:
            return ApiAnswer(status=0, reason="Unreachable", message="no API server")
        if call.method == "DELETE":
            self.deleted.append(call.query["fieldSelector"])
            return ApiAnswer(status=200, body=b"{}")
        name = call.path.rpartition("/")[2]
        if name in self.refused:
            self.refused.remove(name)
            return ApiAnswer(status=403, reason="Forbidden", message="no relationship found")
        if name not in self.claims:
            text = f'resourceclaims.resource.k8s.io "{name}" not found'
            return ApiAnswer(status=404, reason="NotFound", message=text)
        return ApiAnswer(status=200, body=json.dumps(self.claims[name]).encode())

    @property
    def stored(self) -> dict[str, Any]:
        """By claim what the state file says."""
        file = json.loads((self.root_dir / "dra_manager_state").read_text())
        assert file["Checksum"] == zlib.crc32(file["Data"].encode())
        return {one["ClaimName"]: one for one in json.loads(file["Data"])["ClaimInfoStateList"]}


def pod(uid: str, *claims: str, request: str = "") -> bytes:
    use = {"request": request} if request else {}
    container = {
        "name": "c",
        "image": "i",
        "resources": {"claims": [{"name": f"my-{name}", **use} for name in claims]},
    }
    spec = {
        "containers": [container],
        "resourceClaims": [{"name": f"my-{name}", "resourceClaimName": name} for name in claims],
    }
    return json.dumps({"metadata": {"name": uid, "namespace": "shop", "uid": uid}, "spec": spec}).encode()


@pytest.fixture(name="home")
def home_fixture() -> Iterator[Path]:
    """A short path: that of a socket has at most 107 bytes."""
    with tempfile.TemporaryDirectory(prefix="claims-") as path:
        yield Path(path)


@pytest.fixture(name="node")
def node_fixture(home: Path) -> Node:
    return Node(home)


@pytest.fixture(name="driver")
def driver_fixture(home: Path) -> Iterator[SampleDriver]:
    (home / "plugins_registry").mkdir(exist_ok=True)
    with SampleDriver(home, NAME).running() as driver:
        yield driver


async def registered(harness: Harness[DeviceManager], *drivers: SampleDriver) -> None:
    await harness.wait(lambda: all(any(ok for ok, _ in driver.said) for driver in drivers), timeout=30)


async def prepare(harness: Harness[DeviceManager], uid: str, *claims: str) -> str:
    """'' or the error."""
    answer = await harness.deliver(PrepareClaims(uid, pod(uid, *claims)), timeout=60)
    assert isinstance(answer, ClaimsPrepared | ClaimsFailed)
    return answer.message if isinstance(answer, ClaimsFailed) else ""


async def unprepare(harness: Harness[DeviceManager], uid: str) -> str:
    answer = await harness.deliver(UnprepareClaims(uid), timeout=60)
    assert isinstance(answer, ClaimsUnprepared | ClaimsFailed)
    return answer.message if isinstance(answer, ClaimsFailed) else ""


async def test_a_claim_is_prepared_once_and_its_devices_go_to_the_containers(node: Node, driver: SampleDriver) -> None:
    node.claim("one", "pod-1")
    node.claim("two", "pod-1")
    async with node.manager() as harness:
        await registered(harness, driver)
        assert await prepare(harness, "pod-1", "one", "two") == ""
        assert await prepare(harness, "pod-1", "one", "two") == ""
        found = await harness.deliver(GetClaimDevices("pod-1", pod("pod-1", "one", "two"), "c"))
        assert found == ClaimDevices("pod-1", "c", [f"{NAME}/gpu=one", f"{NAME}/gpu=two"])
        other = await harness.deliver(GetClaimDevices("pod-1", pod("pod-1", "one", request="nic"), "c"))
        assert other == ClaimDevices("pod-1", "c", [])
    assert driver.calls == [{"method": "v1.NodePrepareResources", "claims": ["one", "two"]}]
    assert node.stored["one"]["PodUIDs"] == {"pod-1": {}}
    device = node.stored["one"]["DriverState"][NAME]["Devices"][0]
    assert device["CDIDeviceIDs"] == [f"{NAME}/gpu=one"]


async def test_a_claim_of_two_pods_is_unprepared_with_the_second_one(node: Node, driver: SampleDriver) -> None:
    node.claim("shared", "pod-1", "pod-2")
    async with node.manager() as harness:
        await registered(harness, driver)
        assert [await prepare(harness, uid, "shared") for uid in ("pod-1", "pod-2")] == ["", ""]
        assert await unprepare(harness, "pod-1") == ""
        assert list(driver.prepared) == ["uid-of-shared"]
        assert node.stored["shared"]["PodUIDs"] == {"pod-2": {}}
        assert await unprepare(harness, "pod-2") == ""
        assert await unprepare(harness, "pod-2") == ""
    assert driver.prepared == {}
    assert node.stored == {}
    assert driver.methods() == ["v1.NodePrepareResources", "v1.NodeUnprepareResources"]


@pytest.mark.parametrize(
    ("behaviour", "text"),
    [
        ({"error": {"one": "no power"}}, "NodePrepareResources failed for ResourceClaim one: no power"),
        ({"skip": ["one"]}, "NodePrepareResources skipped 1 ResourceClaims"),
        ({"invent": "x"}, "NodePrepareResources returned result for unknown claim UID x"),
        ({"abort": "broken"}, "NodePrepareResources: rpc error: code = Internal desc = broken"),
        ({"garbage": True}, "NodePrepareResources: rpc error: code = Internal desc = the answer cannot be read"),
    ],
)
async def test_a_failed_driver_call_is_retried(
    node: Node, driver: SampleDriver, behaviour: dict[str, Any], text: str
) -> None:
    node.claim("one", "pod-1")
    driver.behave(**behaviour)
    async with node.manager() as harness:
        await registered(harness, driver)
        assert await prepare(harness, "pod-1", "one") == f"prepare dynamic resources: {text}"
        assert node.stored["one"]["PodUIDs"] == {"pod-1": {}}  # it may have been prepared
        driver.behave()
        assert await prepare(harness, "pod-1", "one") == ""


@pytest.mark.parametrize(
    ("behaviour", "text"),
    [
        ({"error": {"one": "busy"}}, "NodeUnprepareResources failed for ResourceClaim one: busy"),
        ({"skip": ["one"]}, "NodeUnprepareResources skipped 1 ResourceClaims"),
        ({"abort": "broken"}, "NodeUnprepareResources: rpc error: code = Internal desc = broken"),
    ],
)
async def test_a_claim_is_kept_until_it_is_unprepared(
    node: Node, driver: SampleDriver, behaviour: dict[str, Any], text: str
) -> None:
    node.claim("one", "pod-1")
    async with node.manager() as harness:
        await registered(harness, driver)
        await prepare(harness, "pod-1", "one")
        driver.behave(**behaviour)
        assert await unprepare(harness, "pod-1") == f"unprepare dynamic resources: {text}"
        assert list(node.stored) == ["one"]
        driver.behave()
        assert await unprepare(harness, "pod-1") == ""
    assert node.stored == {}


async def test_a_missing_driver_affects_only_its_own_claims(node: Node, driver: SampleDriver) -> None:
    node.claim("one", "pod-1")
    node.claim("two", "pod-1", drivers=("nic.example.com",))
    with SampleDriver(node.root_dir, "nic.example.com").running() as other:
        async with node.manager() as harness:
            await registered(harness, driver, other)
            assert await prepare(harness, "pod-1", "one", "two") == ""
            other.stop()
            await harness.wait(lambda: not other.registration.exists(), timeout=30)
            await harness.advance(2.0)
            await harness.wait(lambda: not harness.actor._claims.drivers._plugins.get("nic.example.com"), timeout=30)
            text = "unprepare dynamic resources: DRA driver nic.example.com is not registered"
            assert await unprepare(harness, "pod-1") == text
    assert list(node.stored) == ["two"]
    assert driver.prepared == {}


async def test_a_silent_driver_delays_no_pod_of_another(node: Node, driver: SampleDriver, home: Path) -> None:
    with SampleDriver(home, "nic.example.com").running() as other:
        node.claim("stuck", "u", "w")
        node.claim("free", "v", drivers=("nic.example.com",))
        driver.behave(hang=60)
        async with node.manager() as manager:
            await registered(manager, driver, other)
            waiting = [manager.post(PrepareClaims(uid, pod(uid, "stuck"))) for uid in ("u", "w")]
            await manager.wait(lambda: bool(driver.calls), timeout=30)
            assert await prepare(manager, "v", "free") == ""
            assert await unprepare(manager, "v") == ""
            assert not any(one.done() for one in waiting)


async def test_a_claim_that_the_server_does_not_connect_with_the_node_yet_is_no_failure(
    node: Node, driver: SampleDriver
) -> None:
    node.claim("one", "pod-1")
    node.refused = {"one"}
    async with node.manager() as harness:
        await registered(harness, driver)
        assert await prepare(harness, "pod-1", "one") == ""


async def test_no_record_is_kept_of_a_pod_whose_claims_may_not_be_used(node: Node, driver: SampleDriver) -> None:
    node.claim("one", "another-pod")
    node.claim("two", "pod-1", drivers=("nic.example.com",))
    async with node.manager() as harness:
        await registered(harness, driver)
        wrong = "prepare dynamic resources: pod pod-1 (pod-1) is not allowed to use ResourceClaim one (uid-of-one)"
        assert await prepare(harness, "pod-1", "one") == wrong
        text = "prepare dynamic resources: DRA driver nic.example.com is not registered"
        assert await prepare(harness, "pod-1", "two") == text
        missing = 'fetch ResourceClaim none: resourceclaims.resource.k8s.io "none" not found'
        assert await prepare(harness, "pod-1", "none") == f"prepare dynamic resources: {missing}"
    assert node.stored == {}
    assert driver.calls == []


async def test_a_claim_of_the_same_name_waits_for_the_end_of_the_old_one(node: Node, driver: SampleDriver) -> None:
    node.claim("one", "pod-1")
    async with node.manager() as harness:
        await registered(harness, driver)
        await prepare(harness, "pod-1", "one")
        node.claim("one", "pod-2", uid="another")
        text = "old ResourceClaim with same name one and different UID uid-of-one still exists"
        wrong = f"prepare dynamic resources: {text} (previous pod force-deleted?!)"
        assert await prepare(harness, "pod-2", "one") == wrong
        await unprepare(harness, "pod-1")
        assert await prepare(harness, "pod-2", "one") == ""
    assert list(driver.prepared) == ["another"]


async def test_the_next_incarnation_prepares_again_and_unprepares_without_the_api(
    node: Node, driver: SampleDriver
) -> None:
    node.claim("one", "pod-1")
    async with node.manager() as first:
        await registered(first, driver)
        await prepare(first, "pod-1", "one")
    async with node.manager() as second:
        await second.wait(lambda: len(driver.said) > 1, timeout=30)
        found = await second.deliver(GetClaimDevices("pod-1", pod("pod-1", "one"), "c"))
        assert found == ClaimDevices("pod-1", "c", [f"{NAME}/gpu=one"])
        assert await prepare(second, "pod-1", "one") == ""
        node.api_away = True
        assert await unprepare(second, "pod-1") == ""
    assert driver.methods() == ["v1.NodePrepareResources"] * 2 + ["v1.NodeUnprepareResources"]
    assert driver.prepared == {}


async def test_claims_of_a_pod_that_no_worker_has_are_unprepared(node: Node, driver: SampleDriver) -> None:
    node.claim("one", "pod-1")
    node.claim("two", "pod-2")
    async with node.manager() as harness:
        await registered(harness, driver)
        await prepare(harness, "pod-1", "one")
        await prepare(harness, "pod-2", "two")
        await harness.deliver(ShardPods(WORKER, 1, ["pod-2"]))
        await harness.advance(150.0)
        await harness.wait(lambda: list(node.stored) == ["two"], timeout=30)
    assert list(driver.prepared) == ["uid-of-two"]


async def test_no_claim_is_unprepared_before_every_worker_has_reported(node: Node, driver: SampleDriver) -> None:
    node.claim("one", "pod-1")
    async with node.manager() as harness:
        await registered(harness, driver)
        await prepare(harness, "pod-1", "one")
        await harness.deliver(ShardPods(WORKER, 2, []))
        await harness.advance(300.0)
    assert list(driver.prepared) == ["uid-of-one"]


async def test_a_pod_that_ends_while_its_claims_are_prepared_leaves_nothing(node: Node, driver: SampleDriver) -> None:
    node.claim("one", "pod-1")
    async with node.manager() as harness:
        await registered(harness, driver)
        driver.behave(hang=1)
        preparing = asyncio.ensure_future(prepare(harness, "pod-1", "one"))
        await harness.wait(lambda: bool(driver.calls), timeout=30)
        driver.behave()
        assert await unprepare(harness, "pod-1") == ""
        assert await preparing == ""
    assert driver.prepared == {}
    assert node.stored == {}


async def test_an_old_driver_is_spoken_to_in_its_own_version(node: Node, home: Path) -> None:
    node.claim("one", "pod-1")
    with SampleDriver(home, NAME, versions=("v1beta1.DRAPlugin",)).running() as driver:
        async with node.manager() as harness:
            await registered(harness, driver)
            assert await prepare(harness, "pod-1", "one") == ""
    assert driver.methods() == ["v1beta1.NodePrepareResources"]


async def test_a_driver_of_unknown_services_is_refused(node: Node, home: Path) -> None:
    with SampleDriver(home, NAME, versions=("v1alpha4.Node",)).running() as driver:
        async with node.manager() as harness:
            await harness.wait(lambda: bool(driver.said), timeout=30)
    [(taken, text), *_] = driver.said
    assert not taken
    assert "invalid supported gRPC versions of DRA driver plugin gpu.example.com at endpoint" in text
    assert 'none of services supported by the plugin (["v1alpha4.Node"])' in text


async def test_the_newest_plugin_serves_and_then_an_older_one(node: Node, home: Path) -> None:
    node.claim("one", "pod-1")
    node.claim("two", "pod-2")
    old = SampleDriver(home, NAME, versions=("v1beta1.DRAPlugin",), instance="-1")
    new = SampleDriver(home, NAME, versions=("v1.DRAPlugin",), instance="-2")
    with old.running():
        async with node.manager() as harness:
            await registered(harness, old)
            with new.running():
                await harness.advance(2.0)
                await registered(harness, new)
                plugins = harness.actor._claims.drivers._plugins
                await harness.wait(lambda: all(one.connected for one in plugins[NAME]), timeout=30)
                assert await prepare(harness, "pod-1", "one") == ""
            await harness.wait(lambda: [one.connected for one in plugins[NAME]] in ([True, False], [True]), timeout=30)
            assert await prepare(harness, "pod-2", "two") == ""
    assert old.methods() == ["v1.NodePrepareResources", "v1beta1.NodePrepareResources"]


async def test_a_damaged_state_file_is_an_error_that_names_it_and_a_way_out(node: Node) -> None:
    path = node.root_dir / "dra_manager_state"
    path.write_text('{"Data":"{}","Checksum":1}')
    with pytest.raises(Exception, match=rf'checkpoint is corrupted.*please drain this node and delete .*"{path}"'):
        async with node.manager():
            pass
    assert path.read_text() == '{"Data":"{}","Checksum":1}'


async def test_slices_of_this_node_go_at_the_start_and_those_of_a_driver_that_stays_away(
    node: Node, driver: SampleDriver
) -> None:
    async with node.manager() as harness:
        await registered(harness, driver)
        await harness.wait(lambda: node.deleted == ["spec.nodeName=node-1"], timeout=30)
        await harness.wait(lambda: harness.actor._claims.drivers.connected(NAME), timeout=30)
        await harness.advance(60.0)
        assert len(node.deleted) == 1
        driver.stop()
        await harness.wait(lambda: not harness.actor._claims.drivers.connected(NAME), timeout=30)
        await harness.advance(29.0)
        assert len(node.deleted) == 1
        await harness.advance(2.0)
        await harness.wait(lambda: len(node.deleted) == 2, timeout=30)
    assert node.deleted[1] == f"spec.nodeName=node-1,spec.driver={NAME}"


def told_health(harness: Harness[DeviceManager], uid: str) -> list[ClaimedDeviceHealth]:
    """The last that the status manager was told of claim `one`."""
    found = [message for message in harness.sent(ClaimedDevices, STATUS_MANAGER) if message.uid == uid]
    return found[-1].claims.get("one", []) if found else []


@pytest.mark.parametrize("version", ["v1", "v1alpha1"])
async def test_the_health_of_devices_is_reported_and_unknown_without_the_driver(
    node: Node, home: Path, version: str
) -> None:
    node.claim("one", "pod-1")
    versions = ("v1.DRAPlugin", f"{version}.DRAResourceHealth")
    with SampleDriver(home, NAME, versions=versions).running() as driver:
        driver.behave(health={"gpu-0": "Healthy"})
        async with node.manager() as harness:
            await registered(harness, driver)
            assert await prepare(harness, "pod-1", "one") == ""

            def is_told(health: Any, message: str = "") -> bool:
                device = ClaimedDeviceHealth(
                    resource_id=f"{NAME}/gpu=one", requests=["gpu"], health=health, message=message
                )
                return told_health(harness, "pod-1") == [device]

            await harness.wait(lambda: is_told("Healthy"), timeout=30)
            driver.behave(health={"gpu-0": "Unhealthy"}, message="too hot")
            await harness.wait(lambda: is_told("Unhealthy", "too hot"), timeout=30)
            stored = json.loads((home / "dra_health_state").read_text())
            assert stored[NAME]["Devices"]["pool/gpu-0"]["Health"] == "Unhealthy"
            harness.clear()
            await harness.deliver(Hello(STATUS_MANAGER, 1))
            await harness.wait(lambda: is_told("Unhealthy", "too hot"), timeout=30)
            driver.stop()
            await harness.wait(lambda: is_told("Unknown"), timeout=30)


async def test_a_driver_without_health_service_has_devices_of_unknown_health(node: Node, driver: SampleDriver) -> None:
    node.claim("one", "pod-1")
    async with node.manager() as harness:
        await registered(harness, driver)
        await prepare(harness, "pod-1", "one")
        assert [one.health for one in told_health(harness, "pod-1")] == ["Unknown"]


async def test_no_health_is_requested_or_reported_without_the_gate(node: Node, driver: SampleDriver) -> None:
    node.claim("one", "pod-1")
    async with node.manager(featureGates={"ResourceHealthStatus": False}) as harness:
        await registered(harness, driver)
        assert await prepare(harness, "pod-1", "one") == ""
        assert harness.sent(ClaimedDevices) == []
