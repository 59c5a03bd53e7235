"""Pods on a machine whose clock is set."""

from __future__ import annotations

import pytest

from tests.support.fake_cri import Fault
from tests.support.shard_harness import Driven, pod


async def test_a_clock_that_is_set_back_leaves_no_container_waiting(tmp_path):
    async with Driven(tmp_path) as node:
        await node.want(pod())
        await node.until(lambda: node.running("a"))
        await node.settled()
        node.clock_offset = -7200.0
        await node.end("a", 1)
        await node.until(lambda: node.attempts("a") == [0, 1] and node.running("a"))


async def test_a_container_started_after_the_clock_was_set_back_is_the_newest(tmp_path):
    async with Driven(tmp_path) as node:
        await node.want(pod())
        await node.until(lambda: node.running("a"))
        await node.settled()
        node.fake.world.clock_ns = lambda: round((node.clock() - 7200.0) * 1e9)
        await node.end("a", 1)
        await node.until(lambda: node.attempts("a") == [0, 1] and node.running("a"))
        await node.pass_time(3 * node.shard.services.sync_seconds)
        assert (node.attempts("a"), node.waiting("a")) == ([0, 1], "")
        (box,) = node.fake.world.sandboxes
        await node.fake.client().stop_pod_sandbox(box)
        await node.relist()
        await node.until(lambda: node.running("a"))
        await node.pass_time(3 * node.shard.services.sync_seconds)
        assert (max(node.attempts("a")), node.count_of("RunPodSandbox")) == (2, 2)


async def test_a_start_that_failed_before_the_clock_was_set_back_is_soon_retried(tmp_path):
    async with Driven(tmp_path) as node:
        node.fake.faults.add("CreateContainer", Fault(error="UNKNOWN", times=1))
        await node.want(pod())
        await node.until(lambda: node.count_of("CreateContainer") == 1)
        await node.settled()
        node.clock_offset = -7200.0
        await node.pass_time(2 * node.shard.services.sync_seconds)
        assert node.running("a")


@pytest.mark.parametrize("seconds", [-120.0, -7200.0])
async def test_a_clock_that_is_set_back_makes_no_pause_before_a_retry_longer(tmp_path, seconds):
    async with Driven(tmp_path) as node:
        node.fake.faults.add("RunPodSandbox", Fault(error="UNKNOWN", times=3))
        await node.want(pod())
        await node.until(lambda: node.count_of("RunPodSandbox") == 1)
        await node.settled()
        node.clock_offset = seconds
        await node.pass_time(20)
        assert node.running("a")


@pytest.mark.parametrize("seconds", [120.0, 7200.0])
async def test_a_clock_that_is_set_forward_makes_no_pause_before_a_retry_shorter_or_longer(tmp_path, seconds):
    async with Driven(tmp_path) as node:
        node.fake.faults.add("RunPodSandbox", Fault(error="UNKNOWN", times=4))
        await node.want(pod())
        await node.pass_time(4)
        before = node.count_of("RunPodSandbox")
        node.clock_offset = seconds
        await node.pass_time(1)
        assert node.count_of("RunPodSandbox") == before == 3
        await node.pass_time(20)
        assert node.running("a")
