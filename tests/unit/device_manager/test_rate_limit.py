"""A stream that floods is read slowly."""

from __future__ import annotations

import asyncio
import itertools
import time

from actors.device_manager.rate_limit import BURST, MessageRate, SharedTime


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
