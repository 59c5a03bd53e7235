"""What the node says of its devices while plugins come and go."""

from __future__ import annotations

import pytest

from actors.device_manager.inventory import GRACE_SECONDS, MOST_BYTES, MOST_REMOVED, Device, Inventory, ResourceTooLarge

BOTH = {"a": Device(), "b": Device(healthy=False)}


def test_an_unhealthy_device_counts_only_for_the_capacity() -> None:
    inventory = Inventory()
    inventory.registered("v/x")
    inventory.reported("v/x", BOTH)
    assert (inventory.capacity(), inventory.allocatable()) == ({"v/x": 2}, {"v/x": 1})


def test_a_missing_plugin_leaves_its_devices_unhealthy_during_the_grace_period() -> None:
    inventory = Inventory()
    inventory.registered("v/x")
    inventory.reported("v/x", BOTH)
    inventory.stopped("v/x", 100.0)
    assert (inventory.capacity(), inventory.allocatable()) == ({"v/x": 2}, {"v/x": 0})
    assert inventory.next_expiry() == 100.0 + GRACE_SECONDS
    assert inventory.expire(100.0 + GRACE_SECONDS - 1) == []
    assert inventory.expire(100.0 + GRACE_SECONDS) == ["v/x"]
    assert (inventory.capacity(), inventory.allocatable()) == ({"v/x": 0}, {"v/x": 0})
    assert "v/x" not in inventory


def test_a_plugin_that_comes_back_in_time_keeps_its_resource() -> None:
    inventory = Inventory()
    inventory.registered("v/x")
    inventory.reported("v/x", BOTH)
    inventory.stopped("v/x", 100.0)
    inventory.registered("v/x")
    assert inventory.next_expiry() is None
    assert inventory.allocatable() == {"v/x": 0}
    inventory.reported("v/x", BOTH)
    assert inventory.allocatable() == {"v/x": 1}


def test_a_second_end_of_the_same_plugin_does_not_lengthen_its_grace() -> None:
    inventory = Inventory()
    inventory.remembered(["v/x"], 0.0)
    inventory.stopped("v/x", 200.0)
    assert inventory.next_expiry() == GRACE_SECONDS


def test_a_resource_from_before_the_restart_has_no_devices_until_its_plugin_registers() -> None:
    inventory = Inventory()
    inventory.remembered(["v/x"], 0.0)
    assert (inventory.capacity(), "v/x" in inventory) == ({"v/x": 0}, True)


def test_a_resource_that_was_removed_and_comes_back_counts_again() -> None:
    inventory = Inventory()
    inventory.remembered(["v/x"], 0.0)
    inventory.expire(GRACE_SECONDS)
    inventory.registered("v/x")
    inventory.reported("v/x", BOTH)
    assert inventory.capacity() == {"v/x": 2}


def test_the_health_of_a_device_without_a_report_is_unknown() -> None:
    inventory = Inventory()
    inventory.reported("v/x", BOTH)
    assert inventory.health("v/x", ["a", "b", "c"]) == {"a": True, "b": False, "c": None}
    assert inventory.health("v/y", ["a"]) == {"a": None}


def test_a_plugin_that_makes_up_names_fills_no_memory_and_the_latest_are_shown() -> None:
    inventory = Inventory()
    for number in range(3 * MOST_REMOVED):
        inventory.remembered([f"v/{number}"], 0.0)
        inventory.expire(GRACE_SECONDS)
    assert list(inventory.capacity()) == [f"v/{number}" for number in range(2 * MOST_REMOVED, 3 * MOST_REMOVED)]
    assert not any(inventory.capacity().values())
    assert inventory.allocatable() == inventory.capacity()


def test_large_lists_of_some_plugins_keep_no_small_list_of_another_away() -> None:
    inventory = Inventory()
    large = {f"{number}{'x' * 96}": Device() for number in range(MOST_BYTES // 2 // 140)}
    for name in ("a.test/x", "b.test/x"):
        inventory.registered(name)
        inventory.check_room(name, large)
        inventory.reported(name, large)
    with pytest.raises(ResourceTooLarge, match=f", and {MOST_BYTES} are the most"):
        inventory.check_room("c.test/x", large)
    inventory.check_room("b.test/x", large)
    inventory.check_room("c.test/x", {f"gpu-{number}": Device(nodes=(0,)) for number in range(1000)})


def test_a_device_of_many_nodes_counts_once_for_each() -> None:
    inventory = Inventory()
    with pytest.raises(ResourceTooLarge):
        inventory.check_room("a.test/x", {str(one): Device(nodes=tuple(range(1024))) for one in range(300)})
