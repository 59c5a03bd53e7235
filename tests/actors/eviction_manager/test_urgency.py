"""Memory that runs out has precedence: over a clean-up of the node, and over the time that pods have to end."""

from __future__ import annotations

from typing import Any, Final

from actors.eviction_manager.node_cleanup import SECONDS
from actors.image_manager.messages import RemoveUnusedImages
from actors.pod_workers.messages import KillPod
from actors.status_manager.messages import ActivePod, ActivePods, GetActivePods
from supervision.actor import AskError
from supervision.testing.harness import Harness

from .made_up_node import MadeUpNode, killed

FULL: Final = {"nodefs": [1, 50, 1000, 50, 1000]}
BOTH: Final = {"nodefs.available": "100", "memory.available": "100Ki"}
SOFT: Final[dict[str, Any]] = {
    "evictionHard": {"memory.available": "50Ki"},
    "evictionSoft": {"memory.available": "100Ki"},
    "evictionSoftGracePeriod": {"memory.available": "1s"},
    "evictionMaxPodGracePeriod": 60,
}


def orders(manager: Harness[Any]) -> list[tuple[str, int]]:
    """Pod and grace period of each order, each once."""
    return list(dict.fromkeys((one.uid, one.grace_seconds) for one in manager.sent(KillPod)))


def removals(manager: Harness[Any]) -> int:
    return sum(isinstance(question, RemoveUnusedImages) for _, question in manager.asks)


async def test_a_clean_up_that_takes_long_does_not_delay_an_eviction_for_memory(node: MadeUpNode) -> None:
    node.add("eater", memory_kib=700)
    node.disks = FULL
    async with node.start(evictionHard=BOTH) as manager:
        manager.answer(RemoveUnusedImages, lambda _: None)
        await manager.advance(15.0)
        assert removals(manager) == 1
        assert killed(manager) == []
        node.set_free(90)
        await manager.advance(1.0)
        assert killed(manager) == ["eater"]
        node.set_free(500)
        node.stop("eater")
        await manager.advance(25.0)
        assert removals(manager) == 1  # the one that is under way
        await manager.advance(SECONDS)
        assert removals(manager) > 1


async def test_disks_that_take_long_to_measure_do_not_delay_an_eviction_for_memory(node: MadeUpNode) -> None:
    node.add("eater", memory_kib=700)
    node.disks, node.hanging_shim = FULL, "eater"
    node.measured = {"eater": {"volumes": {}, "logs": {}, "own": {"used_bytes": 0, "inodes_used": 0}}}
    async with node.start(evictionHard=BOTH) as manager:
        await manager.advance(5.0)
        assert killed(manager) == []
        node.set_free(90)
        await manager.advance(1.0)
        assert killed(manager) == ["eater"]


async def test_a_pod_that_a_soft_threshold_ends_has_to_end_at_once_when_the_hard_one_is_met(node: MadeUpNode) -> None:
    node.add("eater", memory_kib=700, terminationGracePeriodSeconds=50)
    node.add("next", memory_kib=600)
    node.set_free(80)
    async with node.start(**SOFT) as manager:
        await manager.advance(12.0)
        assert orders(manager) == [("eater", 50)]
        node.set_free(40)
        await manager.advance(0.6)
        assert orders(manager) == [("eater", 50), ("eater", 1)]
        await manager.advance(20.0)
        assert killed(manager) == ["eater"]
        node.stop("eater")
        await manager.advance(2.0)
        assert killed(manager) == ["eater", "next"]  # there is not enough memory still


async def test_a_pod_has_no_more_time_again_after_a_restart(node: MadeUpNode) -> None:
    node.add("eater", memory_kib=700, terminationGracePeriodSeconds=50)
    node.set_free(80)
    async with node.start(**SOFT) as manager:
        await manager.advance(12.0)
        node.set_free(40)
        await manager.advance(0.6)
    async with node.start(incarnation=2, **SOFT) as manager:
        await manager.advance(5.0)
        assert orders(manager) == [("eater", 1)]


async def test_a_pod_keeps_its_time_while_the_hard_threshold_is_not_met(node: MadeUpNode) -> None:
    node.add("eater", memory_kib=700, terminationGracePeriodSeconds=50)
    node.set_free(80)
    async with node.start(**SOFT) as manager:
        await manager.advance(20.0)
        node.set_free(60)
        await manager.advance(20.0)
        assert orders(manager) == [("eater", 50)]


async def test_a_pod_is_evicted_as_soon_as_the_pods_are_known(node: MadeUpNode) -> None:
    node.add("eater", memory_kib=700)
    node.set_free(50)
    async with node.start() as manager:
        manager.answer(GetActivePods, AskError("no answer"))
        await manager.advance(3.0)
        assert killed(manager) == []
        manager.answer(GetActivePods, lambda _: ActivePods([ActivePod(uid, *one) for uid, one in node.pods.items()]))
        await manager.advance(1.5)
        assert killed(manager) == ["eater"]
