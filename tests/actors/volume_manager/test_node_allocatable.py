"""The allocatable resources that volumes are made with."""

from __future__ import annotations

from actors.container_manager.messages import GetNodeResources, NodeResources
from actors.shared.linux.memory import total_memory
from actors.volume_manager.tools.node_allocatable import AllocatableLookup
from supervision.actor import Actor, AskError
from supervision.testing.harness import Harness


def _allocatable(**resources: int) -> NodeResources:
    return NodeResources({}, resources, {}, 0, "cgroupfs", 2)


async def test_a_changed_allocatable_is_used_at_once() -> None:
    async with Harness(Actor) as harness:
        lookup = AllocatableLookup(harness.actor)
        for memory in (1 << 30, 3 << 29):
            harness.answer(GetNodeResources, _allocatable(memory=memory))
            assert await lookup.memory() == memory


async def test_the_last_allocatable_stays_while_the_container_manager_does_not_answer() -> None:
    async with Harness(Actor) as harness:
        lookup = AllocatableLookup(harness.actor)
        harness.answer(GetNodeResources, AskError("away"))
        assert (await lookup.resources(), await lookup.memory()) == ({}, total_memory())
        harness.answer(GetNodeResources, _allocatable(memory=5, cpu=2))
        await lookup.resources()
        harness.answer(GetNodeResources, AskError("away"))
        assert (await lookup.resources(), await lookup.memory()) == ({"memory": 5, "cpu": 2}, 5)
