"""Turns of a server's loop."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from actors.http_servers.serving.loop_turns import LoopTurns


async def test_waiting_callers_pass_in_their_order_and_few_in_one_turn_of_the_loop() -> None:
    turns, passed = LoopTurns(2), list[tuple[int, int]]()
    turn = 0

    async def one(name: int) -> None:
        await turns.take()
        passed.append((turn, name))

    tasks = [asyncio.ensure_future(one(name)) for name in range(7)]
    while len(passed) < 7:
        turn += 1
        await asyncio.sleep(0)
    assert [name for _, name in passed] == list(range(7))
    at = [when for when, _ in passed]
    assert max(at.count(when) for when in at) == 2
    await asyncio.gather(*tasks)


async def test_a_caller_that_is_cancelled_while_it_waits_takes_no_place() -> None:
    turns = LoopTurns(1)
    await turns.take()
    gone, next_one = asyncio.ensure_future(turns.take()), asyncio.ensure_future(turns.take())
    await asyncio.sleep(0)
    gone.cancel()
    with suppress(asyncio.CancelledError):
        await gone
    await asyncio.wait_for(next_one, 10)


async def test_without_callers_it_takes_no_turn_of_the_loop() -> None:
    turns = LoopTurns(1)
    await turns.take()
    for _ in range(3):
        await asyncio.sleep(0)
    assert not turns.counts
