"""The pod inventory: complete once every worker has reported, and a pod that no worker has any more is gone."""

from __future__ import annotations

from actors.shared.pod_inventory import PodInventory


def test_the_inventory_is_complete_once_every_worker_has_reported() -> None:
    inventory = PodInventory()
    complete = [inventory.complete]
    for worker, uids in (("worker/0", ["a"]), ("worker/0", ["a"]), ("worker/1", [])):
        inventory.update(worker, 2, uids)
        complete.append(inventory.complete)
    assert complete == [False, False, False, True]
    assert ("a" in inventory, "b" in inventory) == (True, False)


def test_a_pod_is_gone_when_no_worker_reports_it() -> None:
    inventory = PodInventory()
    inventory.update("worker/0", 2, ["a", "b", "c"])
    inventory.update("worker/1", 2, ["b"])
    assert inventory.update("worker/0", 2, ["c"]) == {"a"}
    assert inventory.update("worker/1", 2, []) == {"b"}
    assert inventory.update("worker/1", 2, []) == frozenset()


def test_the_inventory_lists_a_pod_once_also_while_two_workers_report_it() -> None:
    inventory = PodInventory()
    inventory.update("worker/0", 2, ["b", "a"])
    inventory.update("worker/1", 2, ["c", "b"])
    assert inventory.uids() == ["a", "b", "c"]
