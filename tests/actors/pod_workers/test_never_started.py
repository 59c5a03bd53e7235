"""A container that was made and, as far as the runtime knows, never started."""

from __future__ import annotations

import asyncio
import itertools

import pytest

from actors.container_manager.messages import PodReleased, ReleasePod
from actors.pleg.messages import StartHangs
from actors.pod_workers.executor.starts import START_PATIENCE
from actors.pod_workers.executor.termination import CREATED_TRIES
from actors.shared.cri.model import START_ERROR, CriContainerState
from proto import cri_pb2 as cri
from tests.support.fake_cri import Fault
from tests.support.shard_harness import Driven, pod


async def made(node: Driven) -> str:
    """The id of a container that is made, and whose start failed."""
    await node.sources()
    await node.first_look()
    node.fake.faults.add("StartContainer", Fault(error="UNKNOWN", times=1))
    await node.want(pod())
    await node.until(lambda: node.count_of("StartContainer") >= 1)
    await node.settled()
    return node.containers("a")[0].id


async def test_a_container_that_the_runtime_never_removes_does_not_keep_its_pod_from_ending(tmp_path):
    async with Driven(tmp_path) as node:
        await made(node)
        released: list[ReleasePod] = []

        def release(question: ReleasePod) -> PodReleased:
            released.append(question)
            node.fake.faults.clear("RemoveContainer")  # its process is dead now
            return PodReleased(question.uid)

        node.answer(ReleasePod, release)
        node.fake.faults.add("RemoveContainer", Fault(error="UNKNOWN"))
        await node.remove()
        await node.until(lambda: node.count_of("RemoveContainer") == 1)
        while not released:
            await node.pass_time(10)
        await node.until(lambda: node.stage() == "gone")
        assert 2 < node.count_of("RemoveContainer") <= CREATED_TRIES + 2  # with the last one, which came about
        assert not node.fake.world.containers


async def test_a_start_that_is_answered_and_not_carried_out_is_tried_again_after_pauses(tmp_path):
    async with Driven(tmp_path) as node:
        await node.sources()
        await node.first_look()
        node.fake.faults.add("StartContainer", Fault(unheeded=True))
        await node.want(pod())
        await node.until(lambda: node.count_of("StartContainer") >= 2)
        await node.settled()
        assert node.count_of("StartContainer") == 2
        assert node.observed().waiting["a"].reason == "RunContainerError"
        await node.pass_time(60)
        assert 3 <= node.count_of("StartContainer") < 20
        node.fake.faults.clear("StartContainer")
        await node.pass_time(60)
        await node.until(lambda: node.running("a"))
        await node.settled()
        assert node.attempts("a") == [0]
        assert not node.observed().waiting


async def test_a_start_that_succeeds_after_the_runtime_went_away_is_not_undone(tmp_path, monkeypatch):
    async with Driven(tmp_path) as node:
        honest, answers = node.fake.do_ContainerStatus, itertools.count()

        async def looked_at_before_it_runs(request: cri.ContainerStatusRequest) -> cri.ContainerStatusResponse:
            answer = await honest(request)
            if node.count_of("StartContainer") and next(answers) == 1:  # the first one is part of the start
                await node.fake.do_StartContainer(cri.StartContainerRequest(container_id=request.container_id))
            return answer

        await node.sources()
        await node.first_look()
        node.fake.faults.add("StartContainer", Fault(error="UNAVAILABLE", times=1))
        monkeypatch.setattr(node.fake, "do_ContainerStatus", looked_at_before_it_runs)
        await node.want(pod(restartPolicy="Never"))
        await node.pass_time(10)
        await node.until(lambda: node.running("a"))
        await node.settled()
        assert (node.attempts("a"), node.count_of("RemoveContainer")) == ([0], 0)


async def test_a_container_that_is_starting_is_stopped_with_its_grace_once_it_runs(tmp_path):
    async with Driven(tmp_path) as node:
        container_id = await made(node)
        why = "container is in starting state, can't be removed"
        starting = f'failed to set removing state for container "{container_id}": {why}'
        node.fake.faults.add("RemoveContainer", Fault(error="UNKNOWN", details=starting, times=1))
        await node.remove()
        await node.until(lambda: node.count_of("RemoveContainer") == 1)
        await node.settled()
        assert [one.container_id for one in node.harness.sent(StartHangs)] == [container_id]
        await node.fake.client().start_container(container_id)
        assert (await node.fake.client().container_status(container_id)).state is CriContainerState.RUNNING
        await node.pass_time(10)
        await node.until(lambda: node.stage() == "gone")
        assert [request.container_id for request in node.fake.requests_for("StopContainer")] == [container_id]


async def test_a_task_that_the_runtime_has_lost_does_not_keep_a_pod_from_ending(tmp_path):
    async with Driven(tmp_path) as node:
        node.fake.leave_task(await made(node))
        await node.remove()
        await node.until(lambda: node.stage() == "gone")
        assert not node.fake.world.containers


async def failed_once(node: Driven) -> str:
    """The id of a container that could not be started, but left a task; the next instance can be."""
    await node.sources()
    await node.first_look()
    await node.want(pod())
    await node.until(lambda: node.running("a"))
    first = node.containers("a")[0].id
    node.fake.finish(first, 128, START_ERROR)
    node.fake.leave_task(first)
    await node.relist()
    return first


async def test_the_container_of_a_failed_start_is_stopped_before_the_next_start(tmp_path):
    async with Driven(tmp_path) as node:
        first = await failed_once(node)
        await node.pass_time(30)
        await node.until(lambda: node.running("a"))
        assert node.attempts("a") == [0, 1]
        assert [request.container_id for request in node.fake.requests_for("DeleteTask")] == [first]
        assert not node.fake.world.containers[first].task_left


@pytest.mark.parametrize("code", ["UNIMPLEMENTED", "DEADLINE_EXCEEDED"])
async def test_a_runtime_that_keeps_no_such_tasks_or_does_not_answer_starts_the_next_one(tmp_path, code):
    async with Driven(tmp_path) as node:
        for method in ("KillTask", "DeleteTask"):
            node.fake.faults.add(method, Fault(error=code))
        await failed_once(node)
        await node.pass_time(30)
        await node.until(lambda: node.running("a"))
        assert node.attempts("a") == [0, 1]


async def test_a_start_that_went_through_although_its_caller_was_killed_is_no_failure(tmp_path):
    async with Driven(tmp_path) as node:
        await made(node)
        told = len(node.events())
        node.fake.faults.add("StartContainer", Fault(duplicate=True, times=1))
        await node.pass_time(30)
        await node.until(lambda: node.running("a"))
        await node.settled()
        assert [reason for reason, _ in node.events()[told:]] == []
        assert node.attempts("a") == [0]


async def test_a_start_that_was_given_up_with_its_client_is_no_restart(tmp_path):
    async with Driven(tmp_path) as node:
        await node.sources()
        await node.first_look()
        await node.want(pod())
        await node.until(lambda: node.running("a"))
        first = node.containers("a")[0].id
        node.fake.finish(first, 128, START_ERROR, "failed to create containerd task: context canceled: unknown")
        await node.relist()
        await node.until(lambda: node.running("a"))
        assert node.attempts("a") == [0]
        assert first not in node.fake.world.containers


async def test_a_start_that_was_given_up_and_cannot_be_removed_yet_is_tried_again(tmp_path):
    async with Driven(tmp_path) as node:
        await node.sources()
        await node.first_look()
        await node.want(pod())
        await node.until(lambda: node.running("a"))
        node.fake.faults.add("RemoveContainer", Fault(error="UNKNOWN", times=1))
        node.fake.finish(node.containers("a")[0].id, 128, START_ERROR, "context canceled")
        await node.relist()
        await node.until(lambda: node.waiting() == "CreateContainerError")
        await node.pass_time(10)
        await node.until(lambda: node.running("a"))
        assert node.attempts("a") == [0]


@pytest.mark.parametrize("code", ["UNAVAILABLE", "UNKNOWN"])
async def test_only_a_container_during_whose_start_the_runtime_ended_is_made_again(tmp_path, code):
    """containerd that comes back may still have the task of the first start, and end at the second."""
    async with Driven(tmp_path) as node:
        await node.sources()
        await node.first_look()
        node.fake.faults.add("StartContainer", Fault(error=code, times=1))
        await node.want(pod())
        await node.until(lambda: node.count_of("StartContainer") == 1)
        await node.settled()
        first = node.containers("a")[0].id
        await node.pass_time(10)
        await node.until(lambda: node.running("a"))
        started = [request.container_id for request in node.fake.requests_for("StartContainer")]
        assert started.count(first) == (1 if code == "UNAVAILABLE" else 2)
        assert (first in node.fake.world.containers) == (code == "UNKNOWN")
        assert node.attempts("a") == [0]


async def test_a_container_of_an_interrupted_start_that_cannot_be_removed_yet_is_tried_again(tmp_path):
    async with Driven(tmp_path) as node:
        await node.sources()
        await node.first_look()
        node.fake.faults.add("StartContainer", Fault(error="UNAVAILABLE", times=1))
        node.fake.faults.add("RemoveContainer", Fault(error="UNKNOWN", times=1))
        await node.want(pod())
        await node.until(lambda: node.count_of("StartContainer") == 1)
        await node.settled()
        await node.pass_time(10)
        await node.until(lambda: node.running("a"))
        assert (node.count_of("RemoveContainer"), node.attempts("a")) == (2, [0])


async def test_a_start_that_hangs_is_cancelled_soon_after_its_pod_is_removed(tmp_path):
    async with Driven(tmp_path) as node:
        await node.sources()
        await node.first_look()
        node.fake.faults.add("StartContainer", Fault(hang=True, times=1))
        await node.want(pod())
        await node.until(lambda: node.count_of("StartContainer") == 1)
        await node.remove()
        await node.settled()
        assert node.count_of("StopPodSandbox") == 0, "a start that has begun may end"
        await node.pass_time(START_PATIENCE)
        await node.until(lambda: node.stage() == "gone")
        assert not node.fake.world.containers


async def test_a_start_that_ends_soon_after_its_pod_is_removed_has_an_orderly_stop(tmp_path, monkeypatch):
    async with Driven(tmp_path) as node:
        await node.sources()
        await node.first_look()
        go = asyncio.Event()
        start = node.fake.do_StartContainer

        async def slow(request: cri.StartContainerRequest) -> cri.StartContainerResponse:
            await go.wait()
            return await start(request)

        monkeypatch.setattr(node.fake, "do_StartContainer", slow)
        await node.want(pod(terminationGracePeriodSeconds=7))
        await node.until(lambda: node.count_of("StartContainer") == 1)
        await node.remove()
        await node.settled()
        go.set()
        await node.until(lambda: node.stage() == "gone")
        assert [request.timeout for request in node.fake.requests_for("StopContainer")] == [7]
