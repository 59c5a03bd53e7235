"""Which pod directories belong to nobody."""

import asyncio

from hypothesis import given
from hypothesis import strategies as st

from actors.pod_workers.messages import worker_of
from actors.volume_manager.locks import PodLocks
from actors.volume_manager.orphans import GRACE_SECONDS, KnownPodsOfWorkers, due, look


def test_nothing_is_an_orphan_before_every_worker_has_told():
    one = KnownPodsOfWorkers().reported("w0", 2, ["a"])

    assert not KnownPodsOfWorkers().complete
    assert not one.complete
    assert look({}, ["x"], one, 5.0) == {}
    assert one.reported("w1", 2, []).complete


def test_an_orphan_is_due_when_it_has_been_one_for_a_while():
    known = KnownPodsOfWorkers().reported("w0", 1, ["alive"])

    since = look({}, ["alive", "dead"], known, 100.0)
    since = look(since, ["alive", "dead"], known, 105.0)

    assert since == {"dead": 100.0}
    assert due(since, 100.0 + GRACE_SECONDS - 0.1) == []
    assert due(since, 100.0 + GRACE_SECONDS) == ["dead"]


def test_one_that_was_known_in_between_starts_anew():
    known = KnownPodsOfWorkers().reported("w0", 1, [])
    since = look({}, ["x"], known, 0.0)
    since = look(since, ["x"], known.reported("w0", 1, ["x"]), 5.0)

    assert look(since, ["x"], known, 8.0) == {"x": 8.0}


def test_only_a_pods_own_worker_says_that_nobody_has_it_any_more():
    own = worker_of("x", 2)
    (other,) = {"pod_workers/worker/0", "pod_workers/worker/1"} - {own}
    known = KnownPodsOfWorkers().reported(own, 2, []).wanted("x")

    assert known.may_have("x")
    assert known.reported(other, 2, []).may_have("x")
    assert known.reported(own, 2, ["x"]).may_have("x")
    assert not known.reported(own, 2, []).may_have("x")


uids = st.lists(st.sampled_from("abcdef"), max_size=6)


@given(uids, uids, uids, st.floats(0, 1000))
def test_what_any_worker_knows_is_never_an_orphan(present, first, second, now):
    known = KnownPodsOfWorkers().reported("w0", 2, first).reported("w1", 2, second)

    assert not set(look({}, present, known, now)) & {*first, *second}


async def test_one_pods_operations_wait_for_each_other_and_others_do_not():
    locks, order = PodLocks(), []

    async def work(uid, name):
        async with locks.hold(uid):
            order.append(f"{name} begins")
            await asyncio.sleep(0)
            order.append(f"{name} ends")

    await asyncio.gather(work("a", "a1"), work("a", "a2"), work("b", "b1"))

    assert order.index("a1 ends") < order.index("a2 begins")
    assert order.index("b1 begins") < order.index("a1 ends")
    assert len(locks) == 0
