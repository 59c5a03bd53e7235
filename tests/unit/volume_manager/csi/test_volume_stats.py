"""Figures of volumes from their drivers: each is asked within bounds, and one that hangs costs its own figures."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from actors.api_clients.event_client.messages import EVENT_CLIENT, RecordEvent
from actors.shared.kube.codec import decode_pod, encode
from actors.shared.stats.volume_figures import VolumeFigures
from actors.volume_manager.csi import volume_stats
from actors.volume_manager.csi.errors import CsiError, UnknownDriverError
from actors.volume_manager.csi.model import CsiMount, CsiVolume, Driver
from actors.volume_manager.csi.volume_stats import CALLS, DriverMeasurements, figures_of
from proto import csi_pb2 as csi
from supervision.actor import Actor
from supervision.testing.harness import Harness
from supervision.testing.virtual_clock import VirtualClock

POD = decode_pod(encode({"metadata": {"name": "p", "namespace": "ns", "uid": "u"}}))
BYTES = csi.VolumeUsage(unit=csi.VolumeUsage.BYTES, total=10, available=6, used=4)
INODES = csi.VolumeUsage(unit=csi.VolumeUsage.INODES, total=5, available=3, used=2)


class Nobody(Actor):
    pass


class Drivers:
    """`good` answers, `hung` does not; `calls`: the handles that were asked about."""

    def __init__(self, **more: Any) -> None:
        self.calls: list[str] = []
        self.answer = csi.NodeGetVolumeStatsResponse(usage=[BYTES, INODES])
        self.more, self.error = {"measures": True, **more}, ""
        self.open = asyncio.Event()

    def get(self, name: str) -> tuple[Driver, Any]:
        if name == "gone":
            raise UnknownDriverError(name)
        return Driver(name=name, endpoint="", node_id="n", **self.more), self

    async def stats(self, handle: str, path: str) -> csi.NodeGetVolumeStatsResponse:
        self.calls.append(handle)
        if handle.startswith("hung"):
            await self.open.wait()
        if self.error:
            raise CsiError(self.error)
        return self.answer


class Node:
    def __init__(self, drivers: Drivers, *, health: bool = False) -> None:
        self.harness, self.clock = Harness(Nobody, name="volume_manager"), VirtualClock()
        self.measurements = DriverMeasurements(
            self.harness.actor, drivers, self.clock, period=60.0, health=health  # type: ignore[arg-type]
        )  # fmt: skip

    def use(self, driver: str, handle: str) -> str:
        path = f"/pods/u/volumes/kubernetes.io~csi/{handle}/mount"
        source = CsiVolume(name=f"pv-{handle}", driver=driver, handle=handle)
        self.measurements.in_use(POD, CsiMount(volume=f"v-{handle}", path=path, source=source, claim="data"))
        return path

    async def measure(self) -> dict[str, VolumeFigures]:
        return {one.volume: one for one in await self.measurements.measure()}


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(volume_stats, "FIGURES_SECONDS", 0.01)


async def test_a_volume_has_the_figures_of_its_driver_under_its_name_in_the_pod() -> None:
    node = Node(Drivers())
    async with node.harness:
        node.use("good", "h")
        (found,) = (await node.measure()).values()
    assert (found.uid, found.folder, found.volume, found.claim) == ("u", "kubernetes.io~csi/pv-h", "v-h", "data")
    sizes = {"capacity_bytes": 10, "available_bytes": 6, "used_bytes": 4}
    assert found.figures == {**sizes, "inodes": 5, "inodes_free": 3, "inodes_used": 2}
    assert found.abnormal is None


async def test_a_hanging_driver_lacks_its_own_figures_and_has_a_bounded_number_of_calls() -> None:
    drivers = Drivers()
    node = Node(drivers)
    async with node.harness:
        node.use("good", "h")
        for number in range(CALLS + 5):
            node.use("other", f"hung{number}")
        for _ in range(3):
            node.clock.now += 60.0
            found = await node.measure()
            assert found.pop("v-h").figures is not None
            assert [one.figures for one in found.values()] == [None] * (CALLS + 5)
        assert len([one for one in drivers.calls if one.startswith("hung")]) == CALLS
        drivers.open.set()
        await node.harness.settle()
        assert all(one.figures for one in (await node.measure()).values()), "a late answer counts"


async def test_concurrent_requests_cause_one_call_per_half_period() -> None:
    drivers = Drivers()
    node = Node(drivers)
    async with node.harness:
        node.use("good", "h")
        for _ in range(5):
            assert (await node.measure())["v-h"].figures is not None
        assert drivers.calls == ["h"]
        node.clock.now += 30.0
        await node.measure()
        assert drivers.calls == ["h", "h"]


async def test_unmeasurable_and_unmounted_volumes_are_not_measured() -> None:
    drivers = Drivers(measures=False)
    node = Node(drivers)
    async with node.harness:
        node.use("good", "h")
        node.use("gone", "i")
        assert await node.measure() == {}
        drivers.more["measures"] = True
        node.measurements.unused(node.use("good", "h"))
        assert await node.measure() == {}
    assert drivers.calls == []


async def test_figures_are_gone_when_the_driver_fails() -> None:
    drivers = Drivers()
    node = Node(drivers)
    async with node.harness:
        node.use("good", "h")
        await node.measure()
        drivers.error = "no such volume"
        node.clock.now += 60.0
        assert (await node.measure())["v-h"].figures is None


@pytest.mark.parametrize(
    ("health", "conditions", "abnormal"),
    [(True, True, True), (True, True, False), (False, True, None), (True, False, None)],
)
async def test_health_is_requested_with_the_gate_and_the_capability(
    health: bool, conditions: bool, abnormal: bool | None
) -> None:
    drivers = Drivers(conditions=conditions)
    drivers.answer.volume_condition.abnormal = abnormal is not False
    drivers.answer.volume_condition.message = "the disk is lost"
    node = Node(drivers, health=health)
    async with node.harness:
        node.use("good", "h")
        assert (await node.measure())["v-h"].abnormal is abnormal
        events = node.harness.sent(RecordEvent, EVENT_CLIENT)
    said = [(one.type, one.reason, one.message) for one in events]
    wanted = [("Warning", "VolumeConditionAbnormal", "Volume v-h: the disk is lost")]
    assert said == (wanted if abnormal else [])


def test_an_answer_without_figures_is_an_error() -> None:
    with pytest.raises(CsiError, match="failed to get usage from response"):
        figures_of(csi.NodeGetVolumeStatsResponse(usage=[csi.VolumeUsage(total=3)]))
