"""Which pod directories are orphans."""

import asyncio

from hypothesis import given
from hypothesis import strategies as st

from actors.pod_workers.messages import worker_of
from actors.shared.pod_locks import PodLocks
from actors.volume_manager.orphans import GRACE_SECONDS, ReportedPods, find_orphans, removable


def test_nothing_is_an_orphan_before_every_worker_has_reported():
    one = ReportedPods().with_report("w0", 2, ["a"])

    assert not ReportedPods().complete
    assert not one.complete
    assert find_orphans({}, ["x"], one, 5.0) == {}
    assert one.with_report("w1", 2, []).complete


def test_an_orphan_is_removable_after_its_grace_period():
    known = ReportedPods().with_report("w0", 1, ["alive"])

    since = find_orphans({}, ["alive", "dead"], known, 100.0)
    since = find_orphans(since, ["alive", "dead"], known, 105.0)

    assert since == {"dead": 100.0}
    assert removable(since, 100.0 + GRACE_SECONDS - 0.1) == []
    assert removable(since, 100.0 + GRACE_SECONDS) == ["dead"]


def test_the_grace_period_starts_again_after_a_report_with_the_pod():
    known = ReportedPods().with_report("w0", 1, [])
    since = find_orphans({}, ["x"], known, 0.0)
    since = find_orphans(since, ["x"], known.with_report("w0", 1, ["x"]), 5.0)

    assert find_orphans(since, ["x"], known, 8.0) == {"x": 8.0}


def test_only_the_report_of_a_pods_own_worker_makes_it_an_orphan():
    own = worker_of("x", 2)
    (other,) = {"pod_workers/worker/0", "pod_workers/worker/1"} - {own}
    known = ReportedPods().with_report(own, 2, []).with_order("x")

    assert "x" in known
    assert "x" in known.with_report(other, 2, [])
    assert "x" in known.with_report(own, 2, ["x"])
    assert "x" not in known.with_report(own, 2, [])


uids = st.lists(st.sampled_from("abcdef"), max_size=6)


@given(uids, uids, uids, st.floats(0, 1000))
def test_a_reported_pod_is_never_an_orphan(present, first, second, now):
    known = ReportedPods().with_report("w0", 2, first).with_report("w1", 2, second)

    assert not set(find_orphans({}, present, known, now)) & {*first, *second}


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
