"""Which pod directories are orphans."""

import asyncio
import logging
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any, cast

from hypothesis import given
from hypothesis import strategies as st

from actors.pod_workers.messages import worker_of
from actors.shared.keyed_locks import KeyedLocks
from actors.volume_manager.orphan_sweep import OrphanSweep
from actors.volume_manager.orphans import GRACE_SECONDS, ReportedPods, find_orphans, removable


def reported(workers: int, **uids: list[str]) -> ReportedPods:
    """After the reports of these workers, of `workers` in all."""
    known = ReportedPods()
    for worker, found in uids.items():
        known.report(worker, workers, found)
    return known


def test_nothing_is_an_orphan_before_every_worker_has_reported():
    assert not ReportedPods().complete
    one = reported(2, w0=["a"])
    assert not one.complete
    assert find_orphans({}, ["x"], one, 5.0) == {}
    both = reported(2, w0=["a"], w1=[])
    assert both.complete
    assert find_orphans({}, ["x"], both, 5.0) == {"x": 5.0}


def test_an_orphan_is_removable_after_its_grace_period():
    known = reported(1, w0=["alive"])

    since = find_orphans({}, ["alive", "dead"], known, 100.0)
    since = find_orphans(since, ["alive", "dead"], known, 105.0)

    assert since == {"dead": 100.0}
    assert removable(since, 100.0 + GRACE_SECONDS - 0.1) == []
    assert removable(since, 100.0 + GRACE_SECONDS) == ["dead"]


def test_the_grace_period_starts_again_after_a_report_with_the_pod():
    since = find_orphans({}, ["x"], reported(1, w0=[]), 0.0)
    since = find_orphans(since, ["x"], reported(1, w0=["x"]), 5.0)

    assert find_orphans(since, ["x"], reported(1, w0=[]), 8.0) == {"x": 8.0}


def test_only_the_report_of_a_pods_own_worker_makes_it_an_orphan():
    own = worker_of("x", 2)
    (other,) = {"pod_workers/worker/0", "pod_workers/worker/1"} - {own}

    def after(worker: str, uids: list[str]) -> ReportedPods:
        known = ReportedPods()
        known.report(own, 2, [])
        known.order("x")
        assert "x" in known
        known.report(worker, 2, uids)
        return known

    assert "x" in after(other, [])
    assert "x" in after(own, ["x"])
    assert "x" not in after(own, [])


uids = st.lists(st.sampled_from("abcdef"), max_size=6)


@given(uids, uids, uids, st.floats(0, 1000))
def test_a_reported_pod_is_never_an_orphan(present, first, second, now):
    known = reported(2, w0=first, w1=second)

    assert not set(find_orphans({}, present, known, now)) & {*first, *second}


async def test_one_pods_operations_wait_for_each_other_and_others_do_not():
    locks, order = KeyedLocks(), []

    async def work(uid, name):
        async with locks.hold(uid):
            order.append(f"{name} begins")
            await asyncio.sleep(0)
            order.append(f"{name} ends")

    await asyncio.gather(work("a", "a1"), work("a", "a2"), work("b", "b1"))

    assert order.index("a1 ends") < order.index("a2 begins")
    assert order.index("b1 begins") < order.index("a1 ends")
    assert len(locks) == 0


def test_what_a_late_refresh_left_of_an_orphan_is_forgotten_with_its_directory(tmp_path):
    """A refresh that was under way as the worker reported gets new tokens and certificates."""
    (tmp_path / "dead").mkdir()
    now, forgotten, removed = [0.0], list[str](), list[str]()

    async def remove(uid: str) -> str:
        removed.append(uid)
        return ""

    actor = SimpleNamespace(
        log=logging.getLogger("orphans"),
        after=lambda *_: nullcontext(),
        metrics=SimpleNamespace(gauge=lambda *_, **__: None),
    )
    sweep = OrphanSweep(
        cast(Any, actor),
        cast(Any, SimpleNamespace(pods_dir=str(tmp_path))),
        cast(Any, SimpleNamespace(uids=[], forget=forgotten.append)),
        cast(Any, SimpleNamespace(pod_dir=remove)),
        KeyedLocks(),
        lambda: now[0],
    )
    sweep.pods_reported("w0", 1, [])
    now[0] = GRACE_SECONDS
    asyncio.run(sweep.sweep())
    assert removed == forgotten == ["dead"]
