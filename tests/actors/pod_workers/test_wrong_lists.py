"""Lists of the runtime that lack what its statuses tell."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.support.fake_cri import Fault
from tests.support.shard_harness import Driven, pod

LISTS = pytest.mark.parametrize("lists", [("ListContainers",), ("ListContainers", "ListPodSandbox")])


async def job_running(node: Driven) -> str:
    """A pod that must run once, and that runs; the id of its container."""
    await node.sources()
    await node.first_look()
    await node.want(pod(restartPolicy="Never"))
    await node.until(lambda: node.running("a"), "it runs")
    await node.relist()
    return node.containers("a")[0].id


def lie(node: Driven, lists: tuple[str, ...]) -> None:
    for method in lists:
        node.fake.faults.add(method, Fault(unheeded=True))


@LISTS
async def test_a_job_that_ends_while_it_is_not_listed_ends_as_its_status_says(
    tmp_path: Path, lists: tuple[str, ...]
) -> None:
    async with Driven(tmp_path) as node:
        job = await job_running(node)
        lie(node, lists)
        await node.relist()
        await node.pass_time(30)
        assert node.stage() == "running"
        node.fake.finish(job, 0)
        await node.relist()
        await node.until(lambda: node.stage() == "terminated", "its end is seen")
        seen = node.observed().runtime
        assert seen is not None
        assert [(one.id, one.exit_code) for one in seen.containers] == [(job, 0)]
        assert node.count_of("RunPodSandbox") == node.count_of("CreateContainer") == 1


@LISTS
async def test_a_container_that_has_ended_is_not_started_again_while_it_is_not_listed(
    tmp_path: Path, lists: tuple[str, ...]
) -> None:
    async with Driven(tmp_path) as node:
        await node.sources()
        await node.first_look()
        await node.want(pod())
        await node.until(lambda: node.running("a"), "it runs")
        await node.relist()
        lie(node, lists)
        await node.relist()
        await node.pass_time(30)
        assert node.attempts("a") == [0]
        node.fake.finish(node.containers("a")[0].id, 3)
        await node.relist()
        await node.until(lambda: len(node.containers("a")) == 2, "it is restarted, and counts so")
        node.fake.faults.clear()
        await node.relist()
        await node.pass_time(30)
        assert (node.attempts("a"), node.running("a")) == ([0, 1], True)
        assert node.count_of("StopContainer") == node.count_of("StopPodSandbox") == 0


@LISTS
async def test_a_job_that_is_not_listed_while_it_starts_runs_once(tmp_path: Path, lists: tuple[str, ...]) -> None:
    async with Driven(tmp_path) as node:
        await node.sources()
        await node.first_look()
        lie(node, lists)
        goes_on = asyncio.Event()
        node.fake.faults.add("StartContainer", Fault(held=goes_on))
        await node.want(pod(restartPolicy="Never"))
        await node.until(lambda: node.count_of("StartContainer") == 1, "it is being started")
        await node.relist()
        goes_on.set()
        await node.until(lambda: node.running("a"), "it runs")
        for _ in range(3):
            await node.relist()
            await node.pass_time(10)
        node.fake.finish(node.containers("a")[0].id, 0)
        await node.relist()
        await node.until(lambda: node.stage() == "terminated", "its end is seen")
        assert node.attempts("a") == [0]
        assert node.count_of("RunPodSandbox") == node.count_of("CreateContainer") == 1


async def test_a_pod_that_another_program_has_removed_gets_a_new_sandbox(tmp_path: Path) -> None:
    async with Driven(tmp_path) as node:
        await node.sources()
        await node.first_look()
        await node.want(pod())
        await node.until(lambda: node.running("a"), "it runs")
        await node.relist()
        (sandbox,) = node.fake.world.sandboxes
        await node.fake.client().stop_pod_sandbox(sandbox)
        await node.fake.client().remove_pod_sandbox(sandbox)
        await node.relist()
        await node.until(lambda: node.running("a"), "it runs again")
        assert node.count_of("RunPodSandbox") == 2
