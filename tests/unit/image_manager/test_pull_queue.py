"""Pulls are joined, and begin as many at once and as many a second as is configured."""

from __future__ import annotations

import asyncio
import time
from functools import partial

import pytest

from actors.image_manager.pull_queue import PullQueue


async def begun(pulls: PullQueue, count: int, seconds: float = 0.0) -> tuple[list[float], int]:
    """When each of `count` different pulls began, and the most that ran at one time."""
    first, at, running, most = time.monotonic(), list[float](), 0, 0

    async def pull() -> str:
        nonlocal running, most
        at.append(time.monotonic() - first)
        running += 1
        most = max(most, running)
        await asyncio.sleep(seconds)
        running -= 1
        return "id"

    await asyncio.gather(*(pulls.join(number, pull) for number in range(count)))
    return at, most


async def test_pulls_over_the_rate_wait_for_their_turn_and_none_fails():
    at, _ = await begun(PullQueue(None, qps=20, burst=2), 5)
    assert at[4] >= 0.14  # three of them after the burst, 50 ms each


async def test_without_a_rate_and_a_limit_all_begin_at_once():
    _, most = await begun(PullQueue(None, qps=0, burst=0), 20, 0.01)
    assert most == 20


async def test_no_more_than_the_limit_run_at_once():
    _, most = await begun(PullQueue(2, qps=0, burst=0), 6, 0.01)
    assert most == 2


async def test_a_pull_that_hangs_is_cancelled_with_the_last_that_waits_for_it_and_the_next_one_begins():
    pulls, started_at = PullQueue(1, qps=0, burst=0), list[str]()

    async def pull(name: str, *, hangs: bool) -> str:
        started_at.append(name)
        return await asyncio.Event().wait() and "" if hangs else name

    first, second = (asyncio.create_task(pulls.join("a", lambda: pull("a", hangs=True))) for _ in range(2))
    other = asyncio.create_task(pulls.join("b", lambda: pull("b", hangs=False)))
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.sleep(0.01)
    assert started_at == ["a"], "somebody still waits for it"
    second.cancel()
    assert await asyncio.wait_for(other, 5) == "b"
    assert await pulls.join("a", lambda: pull("a again", hangs=False)) == "a again"
    assert len(pulls) == 0
    for task in (first, second):
        with pytest.raises(asyncio.CancelledError):
            await task


async def test_a_pull_that_waits_knows_how_many_come_before_it():
    pulls, ends = PullQueue(1, qps=0, burst=0), {name: asyncio.Event() for name in "abc"}

    async def pull(name: str) -> str:
        await ends[name].wait()
        return name

    waiting = [asyncio.create_task(pulls.join(name, partial(pull, name))) for name in "abc"]
    while pulls.before("a") is not None or len(pulls) < 3:
        await asyncio.sleep(0)
    assert [pulls.before(name) for name in "abc"] == [None, 1, 2]
    ends["a"].set()
    await waiting[0]
    while pulls.before("b") is not None:
        await asyncio.sleep(0)
    assert [pulls.before(name) for name in "abc"] == [None, None, 1]
    ends["b"].set()
    ends["c"].set()
    await asyncio.gather(*waiting)
    assert pulls.before("c") is None
