"""Which devices a container gets: worked out by hand, and properties that hold for any node."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.device_manager.choice import DevicesUnavailable, already_has, finish, start
from actors.device_manager.inventory import Device, Resource

FLAT = Resource({name: Device() for name in "abcd"})
NODES = Resource({"a0": Device(nodes=(0,)), "b0": Device(nodes=(0,)), "c1": Device(nodes=(1,)), "d": Device()})


def choose(needed, resource, taken=(), reusable=(), mask=None, preferred=()):
    return finish(start("v/x", needed, resource, taken, reusable, mask), preferred)


# -- what is refused before anything is chosen -------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("needed", "resource", "held", "text"),
    [
        (2, FLAT, {"a"}, 'pod "u" container "c" changed request for resource "v/x" from 1 to 2'),
        (1, None, None, "cannot allocate unregistered device v/x"),
        (0, Resource(), None, "no healthy devices present; cannot allocate unhealthy devices v/x"),
        (1, Resource({"a": Device(healthy=False)}), {"a"},
         "no healthy devices present; cannot allocate unhealthy devices v/x"),
        (1, Resource({"a": Device(healthy=False), "b": Device()}), {"a"},
         "previously allocated devices are no longer healthy; cannot allocate unhealthy devices v/x"),
    ],
)  # fmt: skip
def test_a_request_that_can_never_be_satisfied_is_refused_with_the_kubelets_text(needed, resource, held, text) -> None:
    with pytest.raises(DevicesUnavailable) as refused:
        already_has("u", "c", "v/x", needed, resource, frozenset(held) if held is not None else None)
    assert str(refused.value) == text


def test_a_container_with_its_devices_gets_no_more() -> None:
    assert already_has("u", "c", "v/x", 1, FLAT, frozenset("a"))
    assert already_has("u", "c", "v/x", 4, FLAT, frozenset("abcd"))
    assert already_has("u", "c", "v/x", 0, FLAT, None)
    assert not already_has("u", "c", "v/x", 1, FLAT, None)


# -- the choice --------------------------------------------------------------------------------------------------------
def test_too_few_free_devices_are_refused_with_both_numbers() -> None:
    with pytest.raises(DevicesUnavailable) as refused:
        choose(3, FLAT, taken="ab")
    assert str(refused.value) == "requested number of devices unavailable for v/x. Requested: 3, Available: 2"
    with pytest.raises(DevicesUnavailable) as refused:
        choose(4, FLAT, taken="abc", reusable="a")
    assert str(refused.value) == "requested number of devices unavailable for v/x. Requested: 3, Available: 1"


def test_devices_of_finished_init_containers_come_first() -> None:
    assert choose(2, FLAT, taken="cd", reusable="d") == {"d", "a"}
    assert choose(1, FLAT, taken="abcd", reusable="d") == {"d"}


def test_a_preference_counts_among_free_devices_only() -> None:
    assert choose(2, FLAT, taken="a", preferred=["a", "nonsense", "d", "c"]) == {"c", "d"}
    assert choose(2, FLAT, preferred=["d"]) == {"a", "d"}


def test_more_devices_than_needed_on_the_wanted_node_are_chosen_by_preference() -> None:
    choice = start("v/x", 1, NODES, (), (), 0b01)
    assert choice.preferable == {"a0", "b0"}
    assert choice.taken == ()
    assert finish(choice, ["c1", "b0"]) == {"b0"}


def test_too_few_devices_on_the_wanted_node_are_taken_whole_then_others_then_those_without_a_node() -> None:
    choice = start("v/x", 3, NODES, (), (), 0b01)
    assert (choice.taken, choice.candidates) == (("a0", "b0"), ("c1", "d"))
    assert choice.preferable == {"a0", "b0", "c1", "d"}
    assert finish(choice, []) == {"a0", "b0", "c1"}
    assert finish(choice, ["d"]) == {"a0", "b0", "d"}


def test_the_plugin_is_not_queried_if_there_is_no_choice() -> None:
    assert start("v/x", 2, NODES, (), (), 0b01).missing == 0
    assert start("v/x", 1, FLAT, "a", "a", None).missing == 0


names = st.sets(st.sampled_from("abcdefgh"), max_size=8)


@given(
    st.dictionaries(st.sampled_from("abcdefgh"), st.builds(
        Device, healthy=st.booleans(), nodes=st.sets(st.integers(0, 3), max_size=2).map(tuple))),
    names, names, st.integers(1, 8), st.none() | st.integers(0, 15), st.lists(st.sampled_from("abcdefghz"), max_size=9),
)  # fmt: skip
def test_a_choice_has_the_right_size_and_only_free_items(devices, taken, reusable, needed, mask, preferred):
    resource, reusable = Resource(devices), reusable & taken & devices.keys()
    free = resource.healthy - taken
    try:
        chosen = choose(needed, resource, taken, reusable, mask, preferred)
    except DevicesUnavailable:
        assert len(free) + len(reusable) < needed
        return
    assert len(chosen) == needed
    assert chosen <= free | reusable
    if len(chosen - reusable) and mask is not None:
        aligned = {one for one in free if any(mask >> node & 1 for node in devices[one].nodes)}
        assert aligned <= chosen or chosen - reusable <= aligned
