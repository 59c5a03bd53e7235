"""The queues of the watches of the pods API."""

from __future__ import annotations

from contextlib import ExitStack

import pytest

from actors.http_servers.pods_api.watches import MOST_EVENTS, MOST_WATCHES, TooManyWatches, Watches


async def test_a_client_that_is_too_far_behind_gets_what_waits_for_it_and_then_its_end() -> None:
    watches = Watches[int]()
    with watches.open() as slow, watches.open() as fast:
        for number in range(MOST_EVENTS + 1):
            assert watches.tell(number) == (number == MOST_EVENTS)
            assert await fast.next() == number
        assert (len(watches), watches.tell(-1)) == (1, 0)
        assert [await slow.next() for _ in range(MOST_EVENTS + 1)] == [*range(MOST_EVENTS), None]
        assert await fast.next() == -1
    assert len(watches) == 0


def test_the_number_of_watches_is_limited_and_each_that_ends_makes_room() -> None:
    watches = Watches[int]()
    with ExitStack() as stack:
        for _ in range(MOST_WATCHES):
            stack.enter_context(watches.open())
        with pytest.raises(TooManyWatches), watches.open():
            pass
    with watches.open():
        assert len(watches) == 1
