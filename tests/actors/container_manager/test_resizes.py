"""Resizes that wait for room: who gets it, when, and what is left of it when something is lost."""

from __future__ import annotations

from typing import Any

import pytest

from actors.container_manager.messages import (
    CountRunningPod,
    GetNodeResources,
    NodeEvictions,
    PodAdmitted,
    PodRejected,
    ReleasePod,
    ResizePod,
    StopCounting,
)
from actors.container_manager.resizes.pod_resizes import OPEN_SECONDS, RETRY_SECONDS
from actors.pod_workers.messages import ResizeMayFit, ShardPods
from actors.shutdown_manager.messages import NodeShutdown
from tests.support.managed_host import CORES, admit, pod

WORKER = "pod_workers/worker/0"


def sized(share: int, **spec: Any) -> bytes:
    """A pod that wants so many hundredths of the node's cpu."""
    return bytes(pod(cpu=f"{CORES * 10 * share}m", **spec))


async def grow(manager: Any, uid: str, after: int, before: int = 10, since: float = 0.0, **spec: Any) -> Any:
    return await manager.deliver(ResizePod(uid, sized(after, **spec), sized(before, **spec), since))


async def counted(manager: Any) -> int:
    """Hundredths of the node's cpu."""
    found = await manager.deliver(GetNodeResources())
    return int(found.requested.get("cpu", 0)) // (CORES * 10)


def may_fit(manager: Any) -> list[str]:
    return [message.uid for message in manager.sent(ResizeMayFit)]


async def full(manager: Any, *uids: str, **spec: Any) -> None:
    """`big` has 60 hundredths, each other pod 10."""
    await manager.advance(OPEN_SECONDS + 0.1)
    assert isinstance(await admit(manager, "big", sized(60)), PodAdmitted)
    for uid in uids:
        assert isinstance(await admit(manager, uid, sized(10, **spec)), PodAdmitted)


@pytest.mark.parametrize("end", [StopCounting("big"), ReleasePod("big"), CountRunningPod("big", sized(10))])
async def test_a_deferred_resize_is_reported_as_soon_as_there_is_room(host: Any, end: Any) -> None:
    async with host.start() as manager:
        await full(manager, "a")
        refused = await grow(manager, "a", 60)
        assert isinstance(refused, PodRejected)
        assert refused.reason == "Deferred"
        assert refused.message.startswith("Node didn't have enough resource: cpu, requested: ")
        assert may_fit(manager) == []
        await manager.deliver(end)
        assert may_fit(manager) == ["a"]
        assert isinstance(await grow(manager, "a", 60, since=5.0), PodAdmitted)


async def test_a_pod_that_no_worker_has_releases_its_room(host: Any) -> None:
    async with host.start() as manager:
        await full(manager, "a")
        await manager.deliver(ShardPods(WORKER, 1, ["a", "big"]))
        await grow(manager, "a", 60)
        await manager.deliver(ShardPods(WORKER, 1, ["a"]))
        assert may_fit(manager) == ["a"]


async def test_a_shrinking_pod_gives_room_when_its_containers_have_shrunk(host: Any) -> None:
    async with host.start() as manager:
        await full(manager, "a")
        await grow(manager, "a", 60, since=5.0)
        assert isinstance(await grow(manager, "big", 20, before=60), PodAdmitted)
        assert await counted(manager) == 70
        assert may_fit(manager) == []
        assert (await admit(manager, "new", sized(50))).reason == "OutOfcpu"
        await manager.deliver(CountRunningPod("big", sized(20)))
        assert may_fit(manager) == ["a"]
        samples = manager.actor.metrics.snapshot("x", 1).samples
        accepted = [one.labels for one in samples if one.name == "kubelet_pod_deferred_accepted_resizes_total"]
        assert accepted == [{"retry_trigger": "pod_resized"}]


async def test_a_pod_that_grows_again_before_it_has_shrunk_has_that_room(host: Any) -> None:
    async with host.start() as manager:
        await full(manager, "a")
        assert isinstance(await grow(manager, "big", 20, before=60), PodAdmitted)
        assert isinstance(await grow(manager, "big", 60, before=20), PodAdmitted)
        assert (await grow(manager, "big", 95, before=60)).reason == "Deferred"
        await manager.deliver(CountRunningPod("big", sized(60)))
        assert await counted(manager) == 70


async def test_a_shrunken_pod_that_ends_leaves_nothing(host: Any) -> None:
    async with host.start() as manager:
        await full(manager, "a")
        await grow(manager, "big", 20, before=60)
        await manager.deliver(ReleasePod("big"))
        assert isinstance(await admit(manager, "big", sized(20)), PodAdmitted)
        assert await counted(manager) == 30


async def test_room_is_given_by_priority_and_age_not_by_order_of_requests(host: Any) -> None:
    async with host.start() as manager:
        await full(manager, "late", "early")
        assert isinstance(await admit(manager, "vip", sized(10, priority=5)), PodAdmitted)
        await grow(manager, "late", 40, since=9.0)
        await grow(manager, "early", 40, since=3.0)
        await grow(manager, "vip", 40, since=20.0, priority=5)
        await manager.deliver(StopCounting("big"))
        assert may_fit(manager) == ["vip", "early"], "there is room for two of the three"
        assert (await grow(manager, "late", 40, since=9.0)).reason == "Deferred"


async def test_room_that_is_promised_is_kept_until_the_worker_asks(host: Any) -> None:
    async with host.start() as manager:
        await full(manager, "a")
        await grow(manager, "a", 60)
        await manager.deliver(StopCounting("big"))
        assert await counted(manager) == 60
        assert (await admit(manager, "new", sized(50))).reason == "OutOfcpu"
        assert isinstance(await grow(manager, "a", 60, since=1.0), PodAdmitted)
        assert await counted(manager) == 60


async def test_a_withdrawn_resize_keeps_no_room(host: Any) -> None:
    async with host.start() as manager:
        await full(manager, "a")
        await grow(manager, "a", 60)
        await manager.deliver(CountRunningPod("a", sized(10)))
        await manager.deliver(StopCounting("big"))
        assert may_fit(manager) == []
        assert await counted(manager) == 10


async def test_a_reservation_that_arrives_too_late_is_released(host: Any) -> None:
    async with host.start() as manager:
        await full(manager, "a")
        await grow(manager, "a", 60)
        await manager.deliver(StopCounting("big"))
        await manager.deliver(CountRunningPod("a", sized(10)))
        assert await counted(manager) == 10


async def test_a_second_request_after_a_reservation_keeps_the_first(host: Any) -> None:
    async with host.start() as manager:
        await full(manager, "a", "b")
        await grow(manager, "a", 60)
        await manager.deliver(StopCounting("big"))
        assert (await grow(manager, "a", 95, since=1.0)).reason == "Deferred"
        assert await counted(manager) == 20


async def test_a_pod_that_wants_less_than_it_was_promised_gives_the_rest_to_the_next(host: Any) -> None:
    async with host.start() as manager:
        await full(manager, "a", "b")
        await grow(manager, "a", 60, since=1.0)
        await grow(manager, "b", 60, since=2.0)
        await manager.deliver(StopCounting("big"))
        assert may_fit(manager) == ["a", "b"], "there is room for the first; the second waits for less"
        assert isinstance(await grow(manager, "a", 20, since=1.0), PodAdmitted)
        assert may_fit(manager) == ["a", "b", "b"]
        assert await counted(manager) == 80


async def test_a_pod_that_ends_waits_for_nothing(host: Any) -> None:
    async with host.start() as manager:
        await full(manager, "a")
        await grow(manager, "a", 60)
        await manager.deliver(StopCounting("a"))
        await manager.deliver(StopCounting("big"))
        assert may_fit(manager) == []
        assert await counted(manager) == 0


async def test_after_a_start_resizes_are_collected_and_decided_in_order(host: Any) -> None:
    async with host.start() as manager:
        for uid, spec in (("low", {}), ("high", {"priority": 7})):
            await manager.deliver(CountRunningPod(uid, sized(10, **spec)))
        low = manager.post(ResizePod("low", sized(60), sized(10)))
        high = manager.post(ResizePod("high", sized(60, priority=7), sized(10, priority=7)))
        late = manager.post(ResizePod("low", sized(60), sized(10)))
        await manager.settle()
        assert not low.done()
        await manager.deliver(CountRunningPod("other", sized(20)))
        await manager.advance(OPEN_SECONDS + 0.1)
        assert isinstance(await high, PodAdmitted)
        assert (await low).reason == "Deferred"
        assert (await late).reason == "Deferred"
        assert await counted(manager) == 90


async def test_waiting_resizes_are_tried_again_from_time_to_time(host: Any) -> None:
    async with host.start() as manager:
        await full(manager, "a")
        await grow(manager, "a", 60)
        totals = manager.actor._totals.allocatable
        totals["cpu"] = 2 * totals["cpu"]
        await manager.advance(RETRY_SECONDS + 31.0)
        assert may_fit(manager) == ["a"]


async def test_an_infeasible_resize_waits_in_the_same_queue(host: Any) -> None:
    async with host.start() as manager:
        await full(manager, "a")
        refused = await grow(manager, "a", 101)
        assert (refused.reason, refused.detail) == ("Deferred", "OutOfcpu")
        assert refused.message.startswith("Node didn't have enough resource: cpu, requested: ")
        await manager.deliver(StopCounting("big"))
        assert (await grow(manager, "a", 101, since=1.0)).reason == "Deferred"


async def test_a_resize_that_waits_for_another_reason_asks_again_once(host: Any) -> None:
    async with host.start() as manager:
        await full(manager, "a", "b", "c")
        first = await grow(manager, "a", 99)
        await manager.deliver(StopCounting("b"))
        assert may_fit(manager) == ["a"], "what others use has changed"
        second = await grow(manager, "a", 99, since=1.0)
        assert (second.reason, first.message != second.message) == ("Deferred", True)
        await manager.advance(RETRY_SECONDS + 31.0)
        assert may_fit(manager) == ["a"], "nothing has changed"


@pytest.mark.parametrize(
    ("report", "detail", "text"),
    [
        (NodeEvictions(["DiskPressure"]), "Evicted", "The node had condition: [DiskPressure]. "),
        (NodeEvictions(["MemoryPressure"]), "", ""),
        (NodeShutdown(active=True), "NodeShutdown", "Pod was rejected as the node is shutting down."),
    ],
)
async def test_a_condition_that_keeps_new_pods_away_defers_resizes(
    host: Any, report: Any, detail: str, text: str
) -> None:
    async with host.start(standalone=False) as manager:
        await manager.deliver(NodeEvictions([]))
        await manager.deliver(NodeShutdown(active=False))
        await full(manager, "a")
        await manager.deliver(report)
        answer = await grow(manager, "a", 20)
        if not detail:
            assert isinstance(answer, PodAdmitted)
            return
        assert (answer.reason, answer.detail, answer.message) == ("Deferred", detail, text)
        await manager.deliver(NodeEvictions([]))
        await manager.deliver(NodeShutdown(active=False))
        await manager.advance(RETRY_SECONDS)
        assert may_fit(manager) == ["a"]
