"""No device is had twice."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from actors.device_manager.holdings import NO_NODE, Holdings, Key, Share


def share(*ids: str) -> Share:
    return Share({NO_NODE: ids})


def test_a_device_is_taken_from_its_reservation_on() -> None:
    holdings, key = Holdings(), Key("u", "c", "v/x")
    holdings.reserve(key, {"a"})
    assert holdings.taken("v/x") == {"a"}
    assert holdings.get(key) is None
    holdings.allocate(key, share("a"))
    assert holdings.taken("v/x") == {"a"}
    assert holdings.of("u", "c") == {"v/x": share("a")}
    assert holdings.drop("u")
    assert not holdings.taken("v/x")
    assert not holdings.drop("u")


def test_a_reservation_that_came_to_nothing_is_free() -> None:
    holdings, key = Holdings(), Key("u", "c", "v/x")
    first = holdings.reserve(key, {"a"})
    second = holdings.reserve(key, {"b"})
    holdings.cancel(key, first)
    assert holdings.taken("v/x") == {"b"}
    holdings.cancel(key, second)
    assert not holdings.taken("v/x")
    holdings.cancel(key, holdings.reserved(key))


def test_a_reservation_may_change_until_the_plugin_allocates_it() -> None:
    holdings, key = Holdings(), Key("u", "c", "v/x")
    holdings.reserve(key, {"a"})
    assert holdings.taken("v/x", "u", "c") == holdings.taken("v/x", "u") == frozenset()
    assert holdings.taken("v/x", "u", "other") == holdings.taken("v/x", "w") == {"a"}
    assert holdings.allocated_to("u", "c", "v/x") == frozenset()
    holdings.reserve(key, {"b"}, committed=True)
    assert holdings.taken("v/x", "u", "c") == holdings.allocated_to("u", "c", "v/x") == {"b"}
    assert holdings.is_committed(key)
    assert not holdings.drop("u")
    assert not holdings.is_committed(key)
    assert not holdings.taken("v/x")


def test_a_reserved_device_stays_free_for_the_init_container_while_the_next_one_is_to_have_it_too() -> None:
    holdings, first = Holdings(), Key("u", "init", "v/x")
    holdings.reserve(first, {"a"})
    assert holdings.reusable("u", "c", "v/x", ["init"]) == {"a"}
    holdings.reserve(Key("u", "c", "v/x"), {"a"})
    assert holdings.taken("v/x", "u", "init") == frozenset()
    assert holdings.taken("v/x", "u", "other") == holdings.taken("v/x", "w", "init") == {"a"}
    holdings.reserve(first, {"a"}, committed=True)
    assert holdings.taken("v/x", "u", "init") == {"a"}


def test_devices_of_an_init_container_are_reusable_unless_another_container_has_them() -> None:
    holdings = Holdings()
    holdings.allocate(Key("u", "init", "v/x"), share("a", "b"))
    holdings.allocate(Key("u", "sidecar", "v/x"), share("b", "c"))
    holdings.allocate(Key("other", "init", "v/x"), share("d"))
    assert holdings.reusable("u", "c", "v/x", ["init"]) == {"a"}
    assert holdings.reusable("u", "c", "v/y", ["init"]) == frozenset()


def test_a_device_of_two_nodes_is_one_device() -> None:
    assert Share({0: ("a",), 1: ("a", "b")}).ids == {"a", "b"}


@given(st.lists(st.tuples(st.sampled_from(["reserve", "hold", "cancel", "drop"]), st.sampled_from("uvw"),
                          st.sampled_from(["i", "c"])), max_size=40))  # fmt: skip
def test_free_devices_are_never_given_to_two_pods(steps) -> None:
    holdings, everything = Holdings(), {"a", "b", "c"}
    for step, uid, container in steps:
        key = Key(uid, container, "v/x")
        if step == "drop":
            holdings.drop(uid)
        elif step == "cancel":
            holdings.cancel(key, holdings.reserved(key))
        elif holdings.get(key) is None and (free := everything - holdings.taken("v/x")):
            chosen = sorted(free)[0]
            if step == "reserve":
                holdings.reserve(key, {chosen})
            else:
                holdings.cancel(key, holdings.reserved(key))
                holdings.allocate(key, share(chosen))
        owners = [(key, one) for key, found in holdings._taken_devices("v/x") for one in found]
        assert len({one for _, one in owners}) == len(owners)


def test_a_container_has_its_own_devices_and_the_pod_those_of_all() -> None:
    holdings = Holdings()
    holdings.allocate(Key("u", "a", "v/x"), share("1"))
    holdings.allocate(Key("u", "b", "v/x"), share("2"))
    holdings.allocate(Key("other", "a", "v/x"), share("3"))
    assert holdings.allocated_to("u", "a", "v/x") == {"1"}
    assert holdings.allocated_to("u", "", "v/x") == {"1", "2"}
