"""Sandboxes that died by themselves or were removed by another program: what follows, and what is given back."""

from __future__ import annotations

from pathlib import Path

from actors.container_manager.messages import CONTAINER_MANAGER, CountRunningPod
from tests.support.fake_cri import Fault
from tests.support.shard_harness import Driven, container, pod


async def test_a_sandbox_that_died_is_stopped_before_there_is_a_new_one(tmp_path: Path) -> None:
    async with Driven(tmp_path) as node:
        await node.want(pod())
        await node.until(lambda: node.running("a"))
        await node.settled()
        (first,) = node.fake.world.sandboxes
        node.fake.lose_sandbox(first)
        await node.relist()
        await node.until(lambda: node.count_of("RunPodSandbox") == 2)
        order = [name for name, _ in node.fake.calls if name in ("RunPodSandbox", "StopPodSandbox")]
        assert order == ["RunPodSandbox", "StopPodSandbox", "RunPodSandbox"]
        assert [one.pod_sandbox_id for one in node.fake.requests_for("StopPodSandbox")] == [first]


async def test_a_container_that_ends_well_because_its_sandbox_is_lost_has_not_done_its_work(tmp_path: Path) -> None:
    """`a` exits with 0 when it is stopped, `done` has exited with 0 by itself."""
    async with Driven(tmp_path) as node:
        containers = [container("a"), container("done", ["sh", "-c", "serve"])]
        await node.want(pod(restartPolicy="OnFailure", containers=containers))
        await node.until(lambda: node.running("a") and node.running("done"))
        await node.end("done", 0)
        await node.settled()
        node.fake.lose_sandbox(next(iter(node.fake.world.sandboxes)))
        await node.relist()
        await node.until(lambda: node.count_of("RunPodSandbox") == 2)
        await node.until(lambda: node.running("a"))
        assert [one.exit_code for one in node.containers("a")] == [0, 0]
        assert (node.attempts("a"), node.attempts("done")) == ([0, 1], [0])
        assert node.stage() == "running"


async def test_a_container_that_its_policy_never_restarts_ends_with_its_sandbox(tmp_path: Path) -> None:
    async with Driven(tmp_path) as node:
        await node.want(pod(restartPolicy="Never"))
        await node.until(lambda: node.running("a"))
        await node.settled()
        node.fake.lose_sandbox(next(iter(node.fake.world.sandboxes)))
        await node.relist()
        await node.until(lambda: node.stage() == "terminated")
        assert (node.attempts("a"), node.count_of("RunPodSandbox")) == ([0], 1)


async def test_the_cgroup_of_a_pod_is_ensured_again_with_a_new_sandbox(tmp_path: Path) -> None:
    async with Driven(tmp_path) as node:
        await node.want(pod())
        await node.until(lambda: node.running("a"))
        await node.settled()
        counted = len(node.harness.sent(CountRunningPod, to=CONTAINER_MANAGER))
        node.fake.lose_sandbox(next(iter(node.fake.world.sandboxes)))
        await node.relist()
        await node.until(lambda: node.count_of("RunPodSandbox") == 2)
        more = node.harness.sent(CountRunningPod, to=CONTAINER_MANAGER)[counted:]
        assert [message.uid for message in more] == ["u"]


async def test_a_sandbox_is_stopped_before_it_is_removed(tmp_path: Path) -> None:
    async with Driven(tmp_path) as node:
        await node.sources()
        await node.first_look()
        await node.want(pod())
        await node.until(lambda: node.running("a"))
        await node.remove()
        await node.until(lambda: node.stage() == "gone")
        ends = [name for name, _ in node.fake.calls if name in ("StopPodSandbox", "RemovePodSandbox")]
        assert ends == ["StopPodSandbox", "StopPodSandbox", "RemovePodSandbox"]


async def test_a_dead_sandbox_that_cannot_be_removed_does_not_delay_a_running_pod(tmp_path: Path) -> None:
    async with Driven(tmp_path) as node:
        node.fake.faults.add("RemovePodSandbox", Fault(error="UNKNOWN", times=1))
        await node.want(pod())
        await node.until(lambda: node.running("a"))
        await node.settled()
        node.fake.lose_sandbox(next(iter(node.fake.world.sandboxes)))
        await node.relist()
        await node.until(lambda: node.running("a"))
        await node.end("a", 1)  # its dead container is one too many now
        await node.settled()
        await node.pass_time(30)
        await node.until(lambda: node.count_of("RemovePodSandbox") > 0)
        await node.settled()
        await node.pass_time(20)
        assert node.count_of("RemovePodSandbox") == 1, "no retry: the pod runs"
        await node.pass_time(100)
        await node.until(lambda: node.count_of("RemovePodSandbox") == 2)
        assert node.running("a")


async def test_an_unreadable_new_sandbox_has_an_event_and_is_read_again(tmp_path):
    async with Driven(tmp_path) as node:
        node.fake.faults.add("PodSandboxStatus", Fault(error="UNKNOWN", details="no such thing", times=1))
        await node.want(pod())
        await node.until(lambda: "FailedPodSandBoxStatus" in dict(node.events()))
        text = "Unable to get pod sandbox status: rpc error: code = Unknown desc = no such thing"
        assert ("FailedPodSandBoxStatus", text) in node.events()
        await node.pass_time(20)
        await node.until(lambda: node.running("a"))
        assert node.count_of("RunPodSandbox") == 1


async def test_a_pod_that_was_removed_from_the_runtime_begins_again_with_its_init_container(tmp_path: Path) -> None:
    """As by `crictl rmp -f`: the sandbox goes, with all containers."""
    async with Driven(tmp_path) as node:
        await node.want(pod(initContainers=[container("i")]))
        await node.until(lambda: node.running("i"))
        await node.end("i")
        await node.until(lambda: node.running("a"))
        await node.relist()
        await node.settled()
        (box,) = node.fake.world.sandboxes
        await node.fake.client().stop_pod_sandbox(box)
        await node.fake.client().remove_pod_sandbox(box)
        await node.relist()
        await node.until(lambda: node.running("i"))
        await node.relist()
        await node.settled()
        await node.pass_time(20)
        assert (node.running("i"), node.running("a")) == (True, False)
        await node.end("i")
        await node.until(lambda: node.running("a"))
