"""Claims whose device manager ends at each step of a call, what is measured, and claims that a pod may not use."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from actors.device_manager.actor import DeviceManager
from actors.device_manager.dra import drivers
from actors.device_manager.dra.connection import DraConnection
from actors.device_manager.dra.health import MOST_DEVICES
from actors.device_manager.messages import PrepareClaims, UnprepareClaims
from actors.status_manager.messages import ClaimedDevices
from supervision.testing.harness import Harness
from tests.actors.device_manager.dra.test_claims_of_pods import NAME, Node, pod, prepare, registered, unprepare
from tests.support.dra_driver import SampleDriver

METHODS = {"prepare": "v1.NodePrepareResources", "unprepare": "v1.NodeUnprepareResources"}
OF_CLAIM = "dra_resource_claims_in_use"


@pytest.fixture(name="home")
def home_fixture() -> Iterator[Path]:
    """A short path: that of a socket has at most 107 bytes."""
    with TemporaryDirectory(prefix="claims-") as path:
        yield Path(path)


@pytest.fixture(name="node")
def node_fixture(home: Path) -> Node:
    return Node(home)


@pytest.fixture(name="driver")
def driver_fixture(node: Node) -> Iterator[SampleDriver]:
    with SampleDriver(node.root_dir, NAME).running() as driver:
        yield driver


# -- the end of a device manager --------------------------------------------------------------------------------------
def before_the_call(monkeypatch: pytest.MonkeyPatch, method: str, reached: list[str]) -> None:
    async def never(*_: Any) -> Any:
        reached.append(method)
        await asyncio.Event().wait()

    monkeypatch.setattr(DraConnection, method, never)


def after_the_answer(monkeypatch: pytest.MonkeyPatch, method: str, reached: list[str]) -> None:
    call: Callable[..., Any] = getattr(DraConnection, method)

    async def lost(*arguments: Any) -> Any:
        await call(*arguments)
        reached.append(method)
        await asyncio.Event().wait()

    monkeypatch.setattr(DraConnection, method, lost)


@pytest.mark.parametrize("pod_stays", [True, False], ids=["pod stays", "pod goes"])
@pytest.mark.parametrize("step", [before_the_call, after_the_answer])
async def test_a_claim_is_prepared_again_after_any_process_dies_while_preparing(
    node: Node, driver: SampleDriver, monkeypatch: pytest.MonkeyPatch, step: Any, pod_stays: bool
) -> None:
    node.claim("one", "pod-1")
    reached: list[str] = []
    with monkeypatch.context() as patch:
        step(patch, "prepare", reached)
        async with node.manager() as first:
            await registered(first, driver)
            first.post(PrepareClaims("pod-1", pod("pod-1", "one")))
            await first.wait(lambda: bool(reached), timeout=30)
    assert node.stored["one"]["PodUIDs"] == {"pod-1": {}}, "whatever the driver has done is undone"
    driver.said.clear()
    async with node.manager() as second:
        await registered(second, driver)
        if pod_stays:
            assert await prepare(second, "pod-1", "one") == ""
            assert list(driver.prepared) == ["uid-of-one"]
        assert [await unprepare(second, "pod-1") for _ in range(2)] == ["", ""]
    assert driver.prepared == {}
    assert node.stored == {}
    assert driver.methods().count(METHODS["unprepare"]) == 1


@pytest.mark.parametrize("step", [before_the_call, after_the_answer])
async def test_a_claim_is_unprepared_after_any_process_dies_while_unpreparing(
    node: Node, driver: SampleDriver, monkeypatch: pytest.MonkeyPatch, step: Any
) -> None:
    node.claim("one", "pod-1")
    reached: list[str] = []
    with monkeypatch.context() as patch:
        step(patch, "unprepare", reached)
        async with node.manager() as first:
            await registered(first, driver)
            assert await prepare(first, "pod-1", "one") == ""
            first.post(UnprepareClaims("pod-1"))
            await first.wait(lambda: bool(reached), timeout=30)
    assert list(node.stored) == ["one"]
    driver.said.clear()
    async with node.manager() as second:
        await registered(second, driver)
        assert await unprepare(second, "pod-1") == ""
    assert driver.prepared == {}
    assert node.stored == {}
    assert driver.methods().count(METHODS["prepare"]) == 1


@pytest.mark.parametrize("operation", [prepare, unprepare])
async def test_a_driver_that_ends_during_a_call_fails_it_at_once(
    node: Node, driver: SampleDriver, operation: Any
) -> None:
    node.claim("one", "pod-1")
    async with node.manager() as harness:
        await registered(harness, driver)
        if operation is unprepare:
            assert await prepare(harness, "pod-1", "one") == ""
        before = len(driver.calls)
        driver.behave(hang=40.0)
        names = ("one",) if operation is prepare else ()
        asked = asyncio.ensure_future(operation(harness, "pod-1", *names))
        await harness.wait(lambda: len(driver.calls) > before, timeout=30)
        driver.registration.unlink()
        error = await asyncio.wait_for(asked, 20)
    assert "the connection was closed" in error


# -- what is measured -------------------------------------------------------------------------------------------------
def measured(harness: Harness[DeviceManager], name: str) -> dict[tuple[str, ...], float]:
    """By the values of its labels, in the order of their names: the value, or how often it was observed."""
    return {
        tuple(value for _, value in sorted(one.labels.items())): sum(one.counts) if one.counts else one.value
        for one in harness.actor.metrics.snapshot("", 1).samples
        if one.name == name
    }


async def test_calls_operations_and_claims_in_use_are_counted(node: Node, driver: SampleDriver) -> None:
    node.claim("one", "pod-1")
    node.claim("two", "pod-1")
    async with node.manager() as harness:
        await registered(harness, driver)
        driver.behave(abort="broken")
        await prepare(harness, "pod-1", "one", "two")
        assert measured(harness, OF_CLAIM) == {("<any>",): 0}
        driver.behave()
        await prepare(harness, "pod-1", "one", "two")
        assert measured(harness, OF_CLAIM) == {("<any>",): 2, (NAME,): 2}
        await unprepare(harness, "pod-1")
        assert measured(harness, OF_CLAIM) == {("<any>",): 0}
        assert measured(harness, "dra_operations_duration_seconds") == {
            ("true", "PrepareResources"): 1,
            ("false", "PrepareResources"): 1,
            ("false", "UnprepareResources"): 1,
        }
        service = "/k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin"
        assert measured(harness, "dra_grpc_operations_duration_seconds") == {
            (NAME, "Internal", f"{service}/NodePrepareResources"): 1,
            (NAME, "OK", f"{service}/NodePrepareResources"): 1,
            (NAME, "OK", f"{service}/NodeUnprepareResources"): 1,
        }


# -- claims that a pod may not use, or that go ------------------------------------------------------------------------
async def test_a_pod_waits_for_an_unallocated_claim(node: Node, driver: SampleDriver) -> None:
    node.claim("one", "pod-1")
    allocation = node.claims["one"]["status"].pop("allocation")
    async with node.manager() as harness:
        await registered(harness, driver)
        text = "prepare dynamic resources: ResourceClaim one: not allocated"
        assert await prepare(harness, "pod-1", "one") == text
        assert node.stored == {}
        node.claims["one"]["status"]["allocation"] = allocation
        assert await prepare(harness, "pod-1", "one") == ""


async def test_a_claim_that_is_deleted_while_its_pod_starts_is_unprepared_with_the_pod(
    node: Node, driver: SampleDriver
) -> None:
    node.claim("one", "pod-1")
    async with node.manager() as harness:
        await registered(harness, driver)
        driver.behave(abort="not yet")
        await prepare(harness, "pod-1", "one")
        del node.claims["one"]
        driver.behave()
        missing = 'fetch ResourceClaim one: resourceclaims.resource.k8s.io "one" not found'
        assert await prepare(harness, "pod-1", "one") == f"prepare dynamic resources: {missing}"
        assert await unprepare(harness, "pod-1") == ""
    assert node.stored == {}
    assert driver.methods() == [METHODS["prepare"], METHODS["unprepare"]]


async def test_a_device_with_admin_access_is_prepared_as_any_other(node: Node, driver: SampleDriver) -> None:
    node.claim("watch", "monitor")
    node.claim("work", "job")
    node.claims["watch"]["status"]["allocation"]["devices"]["results"][0]["adminAccess"] = True
    async with node.manager() as harness:
        await registered(harness, driver)
        assert [await prepare(harness, "job", "work"), await prepare(harness, "monitor", "watch")] == ["", ""]
        assert await unprepare(harness, "monitor") == ""
    assert list(driver.prepared) == ["uid-of-work"]


# -- the rolling update of a driver -----------------------------------------------------------------------------------
async def test_the_health_of_devices_outlives_the_older_of_two_plugins(node: Node, home: Path) -> None:
    versions = ("v1.DRAPlugin", "v1.DRAResourceHealth")
    old, new = (SampleDriver(home, NAME, versions=versions, instance=name) for name in ("-1", "-2"))
    node.claim("one", "pod-1")

    def told(harness: Harness[DeviceManager]) -> list[str]:
        return [one.health for message in harness.sent(ClaimedDevices) for one in message.claims.get("one", [])]

    with old.running():
        old.behave(health={"gpu-0": "Healthy"})
        async with node.manager() as harness:
            await registered(harness, old)
            assert await prepare(harness, "pod-1", "one") == ""
            await harness.wait(lambda: told(harness)[-1:] == ["Healthy"], timeout=30)
            with new.running():
                await harness.advance(2.0)
                await registered(harness, new)
                plugins = harness.actor._claims.drivers._plugins
                await harness.wait(lambda: all(one.connected for one in plugins[NAME]), timeout=30)
                harness.clear()
                old.stop()
                await harness.wait(lambda: len(plugins[NAME]) == 1, timeout=30)
                new.behave(health={"gpu-0": "Unhealthy"})
                await harness.wait(lambda: told(harness)[-1:] == ["Unhealthy"], timeout=30)
                assert told(harness) == ["Unhealthy"], "it was never unknown"
            await harness.wait(lambda: told(harness)[-1:] == ["Unknown"], timeout=30)


# -- health of drivers that do not list it ----------------------------------------------------------------------------
async def test_a_driver_is_asked_for_health_that_it_does_not_list(node: Node, home: Path) -> None:
    node.claim("one", "pod-1")
    unlisted = ("v1alpha1.DRAResourceHealth",)
    with SampleDriver(home, NAME, versions=("v1.DRAPlugin",), unlisted=unlisted).running() as driver:
        driver.behave(health={"gpu-0": "Unhealthy"})
        async with node.manager() as harness:
            await registered(harness, driver)
            assert await prepare(harness, "pod-1", "one") == ""
            await harness.wait(
                lambda: [one.health for one in harness.sent(ClaimedDevices)[-1].claims["one"]] == ["Unhealthy"],
                timeout=30,
            )


async def test_a_driver_without_health_service_is_asked_for_it_once(node: Node, home: Path) -> None:
    with SampleDriver(home, NAME, versions=("v1.DRAPlugin",)).running() as driver:
        async with node.manager() as harness:
            await registered(harness, driver)
            claims = harness.actor._claims
            assert claims._health is not None
            await harness.wait(lambda: claims._health._streams == {}, timeout=30)  # type: ignore[union-attr]
            connection = claims.drivers.get(NAME)
            await harness.wait(lambda: connection._health_channel is None, timeout=30)
            await harness.advance(60)
            assert connection._health_channel is None


async def test_a_driver_that_prepares_more_devices_than_any_claim_has_is_refused(
    node: Node, driver: SampleDriver
) -> None:
    """All are kept: two million empty ones would end the device manager, at each try."""
    node.claim("one", "pod-1")
    async with node.manager() as harness:
        await registered(harness, driver)
        driver.behave(devices=10_000)
        error = await prepare(harness, "pod-1", "one")
        assert "NodePrepareResources failed for ResourceClaim one: the answer has" in error
        driver.behave(devices=30)
        assert await prepare(harness, "pod-1", "one") == ""
        assert await unprepare(harness, "pod-1") == ""


async def test_texts_of_a_driver_without_end_are_shown_in_part(node: Node, driver: SampleDriver) -> None:
    node.claim("one", "pod-1")
    async with node.manager() as harness:
        await registered(harness, driver)
        driver.behave(error={"one": "e" * 3_000_000})
        error = await prepare(harness, "pod-1", "one")
        assert error.startswith("prepare dynamic resources: NodePrepareResources failed for ResourceClaim one: eee")
        assert len(error) < 5000
        driver.behave(invent="u" * 3_000_000)
        error = await prepare(harness, "pod-1", "one")
        assert "returned result for unknown claim UID uuu" in error
        assert len(error) < 5000


async def test_a_report_of_too_many_devices_ends_the_stream_and_nothing_else(
    node: Node, home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    node.claim("one", "pod-1")
    with SampleDriver(home, NAME, ("v1.DRAPlugin", "v1alpha1.DRAResourceHealth")).running() as driver:
        driver.behave(health={str(number): "Healthy" for number in range(MOST_DEVICES + 1)})
        async with node.manager() as harness:
            await registered(harness, driver)
            text = f"NodeWatchResources: a report has {MOST_DEVICES + 1} devices, and {MOST_DEVICES} are the most"
            await harness.wait(lambda: text in caplog.text, "the reason", timeout=30)
            watch = harness.actor._claims._health
            assert watch is not None
            assert not watch.health.drivers.get(NAME)
            assert await prepare(harness, "pod-1", "one") == ""


async def test_a_report_that_is_too_large_ends_the_stream_and_nothing_else(
    node: Node, home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    node.claim("one", "pod-1")
    with SampleDriver(home, NAME, ("v1.DRAPlugin", "v1alpha1.DRAResourceHealth")).running() as driver:
        driver.behave(health={str(number): "Healthy" for number in range(1100)}, message="m" * 1000)
        async with node.manager() as harness:
            await registered(harness, driver)
            text = "NodeWatchResources: rpc error: code = ResourceExhausted"
            await harness.wait(lambda: text in caplog.text, "the reason", timeout=30)
            assert await prepare(harness, "pod-1", "one") == ""


async def test_a_node_takes_only_so_many_drivers(node: Node, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drivers, "MOST_PLUGINS", 1)
    async with node.manager() as harness:
        with SampleDriver(home, NAME).running() as first:
            await registered(harness, first)
            with SampleDriver(home, "other.example.com").running() as second:
                await harness.wait(lambda: bool(second.said), timeout=30)
                assert second.said[0][1].endswith("the node has 1 plugins of DRA drivers, and takes no more")
