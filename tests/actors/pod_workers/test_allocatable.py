"""The node's allocatable, which a container without a limit sees as its limit, follows the container manager."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from actors.container_manager.messages import (
    CONTAINER_MANAGER,
    GetNodeResources,
    NodeResources,
    PodAdmitted,
    ResizePod,
)
from actors.pod_workers.actor import ALLOCATABLE_RETRY_SECONDS
from actors.pod_workers.containers.machine import this_machine
from actors.pod_workers.executor import container_parts
from supervision.actor import AskTimeout
from supervision.process_messages import Hello
from tests.support.shard_harness import Driven, container, pod

LIMIT: dict[str, Any] = {"name": "LIMIT", "valueFrom": {"resourceFieldRef": {"resource": "limits.memory"}}}


def resources(memory: int) -> NodeResources:
    return NodeResources({}, {"cpu": 4000, "memory": memory}, {}, 0, "cgroupfs", 2)


async def shown_limit(node: Driven) -> int:
    """The limit that a new container without a limit sees."""
    await node.want(pod(containers=[container("a", env=[LIMIT])]))
    await node.until(lambda: node.running("a"))
    (found,) = (pair.value for pair in node.containers("a")[-1].config.envs if pair.key == "LIMIT")
    return int(found)


async def test_a_question_is_repeated_to_a_restarted_container_manager(tmp_path: Path) -> None:
    async with Driven(tmp_path) as node:
        node.answer(GetNodeResources, resources(1 << 30))
        await node.harness.deliver(Hello(CONTAINER_MANAGER, 2))
        assert await shown_limit(node) == 1 << 30


async def test_a_question_is_repeated_to_a_container_manager_that_does_not_answer(tmp_path: Path) -> None:
    node = Driven(tmp_path)
    node.answer(GetNodeResources, AskTimeout("no answer"))
    async with node:
        await node.settled()
        node.answer(GetNodeResources, resources(1 << 30))
        await node.pass_time(ALLOCATABLE_RETRY_SECONDS)
        assert await shown_limit(node) == 1 << 30


async def test_memory_high_of_a_container_without_a_limit_counts_what_all_pods_may_have(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the kubelet: without eviction thresholds."""
    machine = msgspec.structs.replace(this_machine(), cgroup_v2=True)
    monkeypatch.setattr(container_parts, "this_machine", lambda: machine)
    async with Driven(tmp_path, featureGates={"MemoryQoS": True}, memoryThrottlingFactor=0.5) as node:
        answer = msgspec.structs.replace(resources(1 << 30), pods_memory=3 << 30)
        node.answer(GetNodeResources, answer)
        await node.harness.deliver(Hello(CONTAINER_MANAGER, 2))
        requests = {"requests": {"memory": "1Gi"}}
        await node.want(pod(containers=[container("a", resources=requests)]))
        await node.until(lambda: node.running("a"))
        assert node.containers("a")[-1].config.linux.resources.unified["memory.high"] == str(2 << 30)


async def test_a_resize_ends_the_throttling_that_an_agent_with_memory_qos_has_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = msgspec.structs.replace(this_machine(), cgroup_v2=True)
    monkeypatch.setattr(container_parts, "this_machine", lambda: machine)
    async with Driven(tmp_path) as node:
        node.answer(ResizePod, lambda question: PodAdmitted(question.uid, ""))
        for memory in ("1Gi", "2Gi"):
            await node.want(pod(containers=[container("a", resources={"requests": {"memory": memory}})]))
            await node.until(lambda: node.running("a"))
        await node.until(lambda: node.count_of("UpdateContainerResources") == 1)
        (request,) = node.fake.requests_for("UpdateContainerResources")
        assert request.linux.unified["memory.high"] == "max"
