"""When the pod inventory of a shard is reported."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

from actors.pod_workers.inventory_reports import InventoryReports
from actors.pod_workers.messages import ShardPods
from supervision.addresses import ActorName

CONSUMERS = [ActorName("prober"), ActorName("volume_manager")]


class Shard:
    """The actor, whose tasks run when the test says so."""

    name = "pod_workers/worker/0"

    def __init__(self) -> None:
        self.pods: set[str] | None = set()
        self.told: list[tuple[str, ShardPods]] = []
        self.tasks: list[Coroutine[Any, Any, None]] = []
        actor: Any = self
        self.reports = InventoryReports(actor, 2, CONSUMERS, lambda: self.pods)

    def tell(self, name: str, message: ShardPods, *, deadline: float) -> None:
        self.told.append((name, message))

    def start_task(self, coroutine: Coroutine[Any, Any, None], name: str) -> None:
        self.tasks.append(coroutine)

    async def run_tasks(self) -> int:
        tasks, self.tasks = self.tasks, []
        for task in tasks:
            await task
        return len(tasks)

    def reported(self) -> list[tuple[str, list[str]]]:
        told, self.told = self.told, []
        return [(name, message.uids) for name, message in told]


async def test_changes_that_come_together_are_one_report_and_later_ones_another() -> None:
    shard = Shard()
    for pods in ({"b"}, {"a", "b"}, {"a"}):
        shard.pods = set(pods)
        shard.reports.report_soon()
    assert await shard.run_tasks() == 1
    assert shard.reported() == [(name, ["a"]) for name in CONSUMERS]
    shard.pods = {"a", "c"}
    shard.reports.report_soon()
    assert await shard.run_tasks() == 1
    assert shard.reported() == [(name, ["a", "c"]) for name in CONSUMERS]


def test_an_inventory_that_has_not_changed_or_is_incomplete_is_not_reported() -> None:
    shard = Shard()
    shard.pods = None
    shard.reports.report()
    assert shard.reported() == []
    shard.pods = {"a"}
    shard.reports.report()
    shard.reports.report()
    assert shard.reported() == [(name, ["a"]) for name in CONSUMERS]


def test_a_consumer_that_has_started_gets_the_inventory_again_and_no_other_actor_does() -> None:
    shard = Shard()
    shard.pods = {"a"}
    shard.reports.report()
    shard.reported()
    shard.reports.report_to(ActorName("pleg"))
    assert shard.reported() == []
    shard.reports.report_to(CONSUMERS[0])
    assert (str(CONSUMERS[0]), ["a"]) in shard.reported()
