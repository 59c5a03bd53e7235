from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from actors.shared.lists_in_parts import PART_BYTES, ListsInParts, parts_of
from supervision.addresses import ActorName
from supervision.message import Message

MANAGER = ActorName("manager")


class Things(Message, frozen=True):
    keys: list[str]
    more: bool


class RecordingSender:
    """An actor that keeps what it tells. `paused` is set while it waits after a part."""

    def __init__(self) -> None:
        self.told: list[Things] = []
        self.paused, self.go_on = asyncio.Event(), asyncio.Event()
        self.tasks: list[asyncio.Task[None]] = []

    def tell(self, name: ActorName, message: Message) -> None:
        assert (name, type(message)) == (MANAGER, Things)
        self.told.append(message)  # type: ignore[arg-type]

    async def pause(self, seconds: float) -> None:
        self.paused.set()
        await self.go_on.wait()

    def start_task(self, coroutine: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
        self.tasks.append(asyncio.create_task(coroutine, name=name))
        return self.tasks[-1]


def things(keys: list[str], *, more: bool) -> Things:
    return Things(keys, more)


@given(st.dictionaries(st.text(max_size=3), st.integers(0, 3 * PART_BYTES), max_size=20))
def test_each_object_is_in_one_part_and_no_part_of_several_is_too_large(sizes: dict[str, int]) -> None:
    parts = parts_of(sizes)
    assert [key for part in parts for key in part] == list(sizes)
    assert all(len(part) <= 1 or sum(sizes[key] for key in part) <= PART_BYTES for part in parts)
    assert all(sum(sizes[key] for key in (*one, two[0])) > PART_BYTES for one, two in pairwise(parts))


async def test_a_list_that_fits_into_a_message_is_sent_at_once() -> None:
    sender = RecordingSender()
    ListsInParts(sender).send(MANAGER, {"a": PART_BYTES // 2, "b": PART_BYTES // 2}, things)
    ListsInParts(sender).send(MANAGER, {}, things)
    assert sender.told == [Things(["a", "b"], more=False), Things([], more=False)]
    assert sender.tasks == []


async def test_a_large_list_is_sent_in_parts_of_which_only_the_last_is_the_end() -> None:
    sender = RecordingSender()
    sender.go_on.set()
    ListsInParts(sender).send(MANAGER, dict.fromkeys("abc", PART_BYTES), things)
    await asyncio.gather(*sender.tasks)
    assert sender.told == [Things(["a"], more=True), Things(["b"], more=True), Things(["c"], more=False)]


async def test_a_newer_list_to_the_same_receiver_breaks_off_the_older() -> None:
    sender = RecordingSender()
    lists = ListsInParts(sender)
    lists.send(MANAGER, dict.fromkeys("abc", PART_BYTES), things)
    await sender.paused.wait()
    lists.send(MANAGER, {"d": 1}, things)
    sender.go_on.set()
    await asyncio.gather(*sender.tasks, return_exceptions=True)
    assert sender.told == [Things(["a"], more=True), Things(["d"], more=False)]
