"""A stream that floods is read slowly."""

from __future__ import annotations

import asyncio
import itertools
import time

from actors.device_manager.rate_limit import BURST, MessageRate, PacedWork, SharedTime
from supervision.actor import Actor
from supervision.testing.harness import Harness


def test_after_a_burst_ten_messages_a_second_are_read() -> None:
    pace = MessageRate()
    assert [pace.pause(5.0, 5.0) for _ in range(BURST)] == [0.0] * BURST
    pauses = [pace.pause(5.0, 5.0) for _ in range(3)]
    assert [round(one, 6) for one in pauses] == [0.1, 0.2, 0.3]


def test_messages_that_cost_much_take_at_most_a_tenth_of_the_time() -> None:
    assert round(MessageRate().pause(1.0, 1.5), 6) == 4.5


async def test_many_streams_that_cost_much_take_a_tenth_of_the_time_together() -> None:
    shared, began = SharedTime(), list[float]()

    async def read() -> None:
        async with shared.turn():
            began.append(time.monotonic())
            time.sleep(0.01)  # the work of a message

    await asyncio.gather(*(read() for _ in range(3)))
    assert all(later - earlier >= 0.1 for earlier, later in itertools.pairwise(began))


async def test_small_messages_wait_for_no_costly_ones() -> None:
    shared = SharedTime()
    async with shared.turn(), asyncio.timeout(5), shared.turn(small=True):
        pass


class Nobody(Actor):
    pass


async def test_costly_work_is_done_once_for_all_that_asked_and_cheap_work_at_once() -> None:
    harness, done, costs = Harness(Nobody, name="device_manager"), list[float](), [0.0]

    def work() -> None:
        done.append(harness.clock.now)
        harness.clock.now += costs[0]

    async with harness:
        paced = PacedWork(harness.actor, work, lambda: harness.clock.now)
        for _ in range(3):
            paced.ask()
        assert len(done) == 3
        costs[0] = 1.0
        for _ in range(9):
            paced.ask()
        assert len(done) == 4
        await harness.advance(8.0)
        assert len(done) == 4
        await harness.advance(2.0)
        assert len(done) == 5
        assert done[4] - done[3] >= 10.0


async def test_much_work_in_small_pieces_is_put_off_too() -> None:
    harness, done = Harness(Actor, name="a"), list[float]()
    async with harness:

        def work() -> None:
            done.append(harness.clock.now)
            harness.clock.now += 0.05

        paced = PacedWork(harness.actor, work, lambda: harness.clock.now)
        for _ in range(100):
            paced.ask()
        assert len(done) <= 6
        await harness.advance(20.0)
        assert len(done) <= 8


def test_a_stream_within_its_burst_keeps_to_the_rate() -> None:
    pace = MessageRate()

    def exceeded_at(now: float) -> bool:
        pace.pause(now, now)
        return pace.exceeded

    assert [exceeded_at(5.0) for _ in range(BURST + 1)] == [False] * BURST + [True]
    assert not exceeded_at(9.0)


async def test_the_next_message_of_a_stream_is_read_after_its_pause() -> None:
    pace, began = MessageRate(), time.monotonic()
    for _ in range(BURST):
        pace.pause(began, began)
    await pace.after(began)
    assert time.monotonic() - began >= 0.05
