"""Which pods a container manager that was restarted is told to count: those that the kubelet counts."""

from __future__ import annotations

from pathlib import Path

from actors.container_manager.messages import CONTAINER_MANAGER, CountRunningPod, FreeRequests, StopCounting
from actors.pod_workers.messages import KillPod
from actors.volume_manager.messages import UnmountVolumes, VolumesFailed
from supervision.process_messages import Hello
from tests.support.fake_cri import Fault
from tests.support.shard_harness import Driven, pod


async def counted_again(node: Driven) -> list[str]:
    before = len(node.harness.sent(CountRunningPod, to=CONTAINER_MANAGER))
    await node.harness.deliver(Hello(CONTAINER_MANAGER, 2))
    return [message.uid for message in node.harness.sent(CountRunningPod, to=CONTAINER_MANAGER)[before:]]


async def test_a_running_pod_is_counted_and_one_whose_containers_have_ended_is_not(tmp_path: Path) -> None:
    """However long its volumes take: the API server has its end, and the scheduler gives its room to another pod."""
    async with Driven(tmp_path) as node:
        node.answer(UnmountVolumes, lambda question: VolumesFailed(question.uid, "target is busy"))
        await node.want(pod(restartPolicy="Never"))
        await node.until(lambda: node.running("a"))
        assert await counted_again(node) == ["u"]
        await node.settled()
        await node.end("a")
        await node.until(lambda: node.stage() == "terminated")
        await node.until(lambda: bool(node.harness.sent(StopCounting)))
        assert await counted_again(node) == []


async def test_a_pod_that_no_source_has_gives_its_room_to_others_before_its_containers_have_ended(
    tmp_path: Path,
) -> None:
    """The scheduler counts a pod no longer that was deleted by force."""
    async with Driven(tmp_path) as node:
        await node.want(pod())
        await node.until(lambda: node.running("a"))
        await node.settled()
        node.fake.faults.add("StopContainer", Fault(error="UNKNOWN", times=2))
        await node.remove()
        await node.until(lambda: bool(node.harness.sent(FreeRequests)))
        assert node.running("a")
        assert not node.harness.sent(StopCounting)
        assert await counted_again(node) == []
        await node.pass_time(10)
        await node.until(lambda: bool(node.harness.sent(StopCounting)))


async def test_a_running_pod_that_its_next_worker_only_ends_is_counted_until_it_has_ended(tmp_path: Path) -> None:
    """An eviction goes on over a restart of the agent: its room is free when its containers have ended."""
    first = Driven(tmp_path)
    async with first as node:
        await node.want(pod())
        await node.until(lambda: node.running("a"))
    async with Driven(tmp_path, first.fake, first.clock) as node:
        await node.sources(pod(), ready=False)
        await node.harness.deliver(KillPod("u", "Evicted", "", 1))
        await node.until(lambda: bool(node.harness.sent(StopCounting)))
        assert [message.uid for message in node.harness.sent(CountRunningPod, to=CONTAINER_MANAGER)] == ["u"]
