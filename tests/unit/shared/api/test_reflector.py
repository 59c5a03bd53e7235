"""Following a collection through all that a server may answer, against a client whose answers are scripted."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any

import pytest

from actors.shared.api.client import QUIET_SECONDS, ApiResponse, WatchEvent
from actors.shared.api.errors import (
    ApiError,
    Gone,
    Invalid,
    NotFound,
    ServerError,
    TooLarge,
    TooManyRequests,
    Unreachable,
)
from actors.shared.api.reflector import FollowedCollection, Item, Reflector, ReflectorTimes, read_page
from supervision.backoff import BackoffPolicy
from tests.support import virtual_loop
from tests.support.virtual_loop import VirtualLoop

COLLECTION = FollowedCollection("/x")
QUICK = BackoffPolicy(first=0.001, maximum=0.002, factor=2.0, jitter=0.5, free=0)
Step = Callable[[], Any]


def thing(name: str, version: int) -> bytes:
    return json.dumps({"metadata": {"name": name, "uid": name, "resourceVersion": str(version)}}).encode()


def listing(version: int, *things: bytes, rest: str = "") -> ApiResponse:
    """`rest`: the token for the rest of the list."""
    body = {
        "metadata": {"resourceVersion": str(version), "continue": rest},
        "items": [json.loads(one) for one in things],
    }
    return ApiResponse(200, json.dumps(body).encode(), {})


class Script:
    """A client that gives one answer after the other: a list, a list of events, seconds of silence, or an error;
    then it hangs."""

    def __init__(self, *steps: Any) -> None:
        self._steps, self.calls = list(steps), list[str]()
        self.done = asyncio.Event()

    def _next(self, what: str) -> Any:
        self.calls.append(what)
        if not self._steps:
            self.done.set()
            return None
        step = self._steps.pop(0)
        if isinstance(step, ApiError):
            raise step
        return step

    async def call(self, method: str, path: str, *, query: Mapping[str, str], timeout: float, most: int) -> ApiResponse:
        found = self._next(" ".join(["list", *(f"{name}={value}" for name, value in query.items())]))
        if found is None:
            await asyncio.Event().wait()
        assert isinstance(found, ApiResponse)
        return found

    async def watch(
        self, path: str, query: Mapping[str, str], *, opened: Callable[[], None]
    ) -> AsyncIterator[WatchEvent]:
        events = self._next(f"watch {query['resourceVersion']}")
        if events is None:
            await asyncio.Event().wait()
        opened()
        if isinstance(events, float):
            await asyncio.sleep(events)
            return
        for event in events:
            if isinstance(event, ApiError):
                raise event
            yield event


class RecordingConsumer:
    def __init__(self) -> None:
        self.said: list[Any] = []

    def replaced(self, items: list[Item]) -> None:
        self.said.append([item.name for item in items])

    def changed(self, item: Item) -> None:
        self.said.append(f"+{item.name}")

    def deleted(self, item: Item) -> None:
        self.said.append(f"-{item.name}")

    def failed(self, error: ApiError) -> None:
        self.said.append(error.reason)

    def answered(self) -> None:
        pass


async def story(
    *steps: Any,
    policy: BackoffPolicy = QUICK,
    seconds: float = 5.0,
    on_restored: Callable[[str], Awaitable[None]] | None = None,
) -> tuple[list[str], list[Any]]:
    """What the server was asked and what was told of it, until the script is at its end."""
    client, told = Script(*steps), RecordingConsumer()
    reflector = Reflector(
        client,  # type: ignore[arg-type]
        COLLECTION,
        told,
        times=ReflectorTimes(policy, rng=random.Random(1)),
        on_restored=on_restored,
    )
    task = asyncio.create_task(reflector.run())
    try:
        await asyncio.wait_for(client.done.wait(), seconds)
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    return client.calls, told.said


GONE, LOST, BROKEN = Gone(410, "Expired", ""), Unreachable(0, "Unreachable", ""), ServerError(500, "Oops", "")
TOO_LARGE = TooLarge(0, "Unreachable", "an answer of more than 64 MiB")


async def test_a_watch_resumes_from_the_last_version_it_saw() -> None:
    events = [WatchEvent("ADDED", thing("b", 6)), WatchEvent("BOOKMARK", thing("", 9))]
    asked, told = await story(listing(5, thing("a", 1)), events)
    assert asked == ["list", "watch 5", "watch 9"]
    assert told == [["a"], "+b"]


async def test_a_version_that_is_gone_is_listed_again() -> None:
    asked, told = await story(listing(5), [WatchEvent("DELETED", thing("a", 6)), GONE], listing(8, thing("c", 7)))
    assert asked == ["list", "watch 5", "list", "watch 8"]
    assert told == [[], "-a", ["c"]]


LONG = BackoffPolicy(first=0.001, maximum=60.0, factor=100.0, jitter=0.0, free=0)
"""The third failure in a row waits for longer than a test does."""
REFUSED = ApiError(403, "Forbidden", "")


async def test_after_an_outage_a_version_that_is_gone_is_listed_at_once() -> None:
    asked, told = await story(listing(5), [LOST], LOST, [GONE], listing(8, thing("c", 7)), policy=LONG)
    assert asked == ["list", "watch 5", "watch 5", "watch 5", "list", "watch 8"]
    assert told[-1] == ["c"]


async def test_a_server_that_answers_gone_right_after_its_list_is_retried_with_growing_pauses() -> None:
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(story(listing(5), [GONE], listing(6), [GONE], listing(7), [GONE], policy=LONG), 1)


async def test_a_refusal_after_an_outage_waits_as_a_first_failure_does() -> None:
    asked, _ = await story(listing(5), [LOST], LOST, REFUSED, REFUSED, policy=LONG)
    assert asked == ["list", *["watch 5"] * 5]


async def test_a_lost_connection_keeps_the_version() -> None:
    asked, told = await story(listing(5), [LOST], LOST, [WatchEvent("MODIFIED", thing("a", 7))])
    assert asked == ["list", "watch 5", "watch 5", "watch 5", "watch 7"]
    assert told == [[], "Unreachable", "Unreachable", "+a"]


class Restored:
    """Keeps the reasons; refuses the first `refused` lists."""

    def __init__(self, refused: int = 0) -> None:
        self.reasons = list[str]()
        self._refused = refused

    async def __call__(self, reason: str) -> None:
        self.reasons.append(reason)
        if len(self.reasons) <= self._refused:
            raise NotFound(404, "NotFound", "this node is not there")


async def test_after_an_outage_the_collection_that_looks_for_a_restore_is_listed_again() -> None:
    """A watch from 500 would miss what a restored server does before it is at 500 again."""
    restored = Restored()
    asked, told = await story(listing(500), [LOST], LOST, LOST, listing(3, thing("a", 2)), on_restored=restored)
    assert asked == ["list", "watch 500", "watch 500", "list", "list", "watch 3"]
    assert told[-1] == ["a"]
    assert restored.reasons == ["it is at version 3 of /x, and was at 500 before"]


async def test_an_outage_without_a_restore_is_told_to_nobody() -> None:
    restored = Restored()
    asked, _ = await story(listing(500), [LOST], LOST, listing(500), on_restored=restored)
    assert asked == ["list", "watch 500", "watch 500", "list", "watch 500"]
    assert not restored.reasons


async def test_a_broken_watch_that_another_server_continues_is_no_outage() -> None:
    asked, _ = await story(listing(5), [LOST], [WatchEvent("MODIFIED", thing("a", 7))], on_restored=Restored())
    assert asked == ["list", "watch 5", "watch 5", "watch 7"]


@pytest.mark.parametrize("first", [GONE, Invalid(400, "BadRequest", "")])
async def test_a_restore_is_noticed_by_any_list_again(first: ApiError) -> None:
    restored = Restored()
    await story(listing(500), first, listing(3), on_restored=restored)
    assert len(restored.reasons) == 1


async def test_a_list_of_a_server_that_lost_everything_is_not_used_until_it_is_accepted() -> None:
    restored = Restored(refused=2)
    asked, told = await story(
        *(listing(500, thing("a", 1)), GONE, listing(3), listing(4), listing(5, thing("a", 4))), on_restored=restored
    )
    assert asked == ["list", "watch 500", "list", "list", "list", "watch 5"]
    assert told == [["a"], "NotFound", "NotFound", ["a"]]
    assert restored.reasons[-1] == "it is at version 5 of /x, and was at 500 before"


class SlowServer:
    """A client of which the test gives the answers; `asked` has what it was asked."""

    def __init__(self) -> None:
        self.answers, self.events = asyncio.Queue[ApiResponse](), asyncio.Queue[WatchEvent]()
        self.asked: list[str] = []

    async def call(self, method: str, path: str, **_: Any) -> ApiResponse:
        self.asked.append("list")
        return await self.answers.get()

    async def watch(
        self, path: str, query: Mapping[str, str], *, opened: Callable[[], None]
    ) -> AsyncIterator[WatchEvent]:
        self.asked.append(f"watch {query['resourceVersion']}")
        while True:
            yield await self.events.get()


@pytest.mark.parametrize("during", ["list", "watch"])
async def test_what_comes_of_a_lost_history_while_it_is_told_to_start_over_is_not_continued_from(during: str) -> None:
    """The answer is there already when it is told so, and is read after that."""
    server, told = SlowServer(), RecordingConsumer()
    reflector = Reflector(server, COLLECTION, told, times=ReflectorTimes(QUICK))  # type: ignore[arg-type]
    task = asyncio.create_task(reflector.run())
    if during == "watch":
        server.answers.put_nowait(listing(90))
        while server.asked != ["list", "watch 90"]:
            await asyncio.sleep(0)
        server.events.put_nowait(WatchEvent("ADDED", thing("lost", 95)))
    else:
        while server.asked != ["list"]:
            await asyncio.sleep(0)
        server.answers.put_nowait(listing(90, thing("lost", 80)))
    reflector.start_over()
    server.answers.put_nowait(listing(40, thing("found", 30)))
    while len(server.asked) < (4 if during == "watch" else 3):
        await asyncio.sleep(0.001)
    assert server.asked[-2:] == ["list", "watch 40"]
    assert told.said[-1] == ["found"]
    assert "+lost" not in told.said
    assert ["lost"] not in told.said
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_a_watch_that_is_told_to_start_over_is_listed_again() -> None:
    client = Script(listing(5), 60.0, listing(3))
    reflector = Reflector(client, COLLECTION, RecordingConsumer(), times=ReflectorTimes(QUICK))  # type: ignore[arg-type]
    task = asyncio.create_task(reflector.run())
    while len(client.calls) < 2:
        await asyncio.sleep(0)
    reflector.start_over()
    await asyncio.wait_for(client.done.wait(), 5.0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert client.calls == ["list", "watch 5", "list", "watch 3"]


async def test_a_server_that_fails_the_watch_again_and_again_is_listed_again() -> None:
    """Its history may have been taken back by a restore: it waits for a version that will not come."""
    asked, _ = await story(listing(500), BROKEN, BROKEN, BROKEN, listing(3))
    assert asked == ["list", "watch 500", "watch 500", "watch 500", "list", "watch 3"]


async def test_a_server_that_does_not_understand_the_version_is_listed_again() -> None:
    events = [WatchEvent("BOOKMARK", json.dumps({"metadata": {"resourceVersion": "-7x"}}).encode())]
    refused = Invalid(400, "BadRequest", 'resourceVersion: Invalid value: "-7x"')
    asked, told = await story(listing(5), events, refused, listing(8, thing("c", 7)))
    assert asked == ["list", "watch 5", "watch -7x", "list", "watch 8"]
    assert told[-1] == ["c"]


@pytest.mark.parametrize("older", ["4", "9"])
async def test_a_server_whose_versions_go_back_is_listed_again(older: str) -> None:
    mark = json.dumps({"metadata": {"resourceVersion": older}}).encode()
    events = [WatchEvent("MODIFIED", thing("a", 10)), WatchEvent("BOOKMARK", mark)]
    asked, told = await story(listing(9), events, listing(3, thing("c", 2)))
    assert asked == ["list", "watch 9", "list", "watch 3"]
    assert told == [[], "+a", ["c"]]


def test_a_server_that_is_silent_for_as_long_as_bookmarks_never_are_is_listed_again() -> None:
    async def silent(loop: VirtualLoop) -> None:
        asked, told = await story(listing(9), QUIET_SECONDS, listing(3, thing("c", 2)), seconds=2 * QUIET_SECONDS)
        assert asked == ["list", "watch 9", "list", "watch 3"]
        assert told == [[], ["c"]]

    virtual_loop.run(silent)


@pytest.mark.parametrize(
    "body",
    [
        *[b"", b"[]", b"{}", b'{"metadata":{}}', b'{"metadata":{"resourceVersion":"1"},"items":[3]}'],
    ],
)
async def test_a_malformed_list_is_not_an_empty_one(body: bytes) -> None:
    with pytest.raises(Unreachable):
        read_page(ApiResponse(200, body, {}))
    _, told = await story(ApiResponse(200, body, {}), listing(5, thing("a", 1)))
    assert told == ["Unreachable", ["a"]]


async def test_a_part_of_a_list_that_was_to_be_whole_is_not_taken() -> None:
    _, told = await story(listing(1, rest="more"), listing(5, thing("a", 1)))
    assert told == ["Unreachable", ["a"]]


async def test_a_list_that_is_too_large_for_one_answer_is_read_in_pages() -> None:
    asked, told = await story(
        *(TOO_LARGE, listing(5, thing("a", 1), rest="more"), listing(5, thing("b", 2)), []),
        *(Gone(410, "Expired", ""), listing(8, thing("c", 7)), []),
    )
    assert asked[:4] == ["list", "list limit=25", "list limit=25 continue=more", "watch 5"]
    assert asked[5:7] == ["list limit=25", "watch 8"], "the next one is in pages at once"
    assert told == [["a", "b"], ["c"]]


async def test_a_page_that_is_missing_leaves_the_known_objects() -> None:
    asked, told = await story(TOO_LARGE, listing(5, thing("a", 1), rest="more"), LOST, listing(6, thing("a", 1)))
    assert asked[3:5] == ["list limit=25", "watch 6"]
    assert told == ["Unreachable", ["a"]]


async def test_an_object_without_metadata_breaks_off_the_watch_only() -> None:
    asked, told = await story(listing(5), [WatchEvent("ADDED", b"{}")], [WatchEvent("ADDED", thing("b", 6))])
    assert asked == ["list", "watch 5", "watch 5", "watch 6"]
    assert told == [[], "Unreachable", "+b"]


async def test_the_server_sets_the_time_to_wait() -> None:
    started_at = asyncio.get_running_loop().time()
    await story(TooManyRequests(429, "TooManyRequests", "", 0.3), listing(5))
    assert asyncio.get_running_loop().time() - started_at >= 0.3


async def test_a_waiting_task_can_be_woken() -> None:
    client, told = Script(LOST, listing(5)), RecordingConsumer()
    slow = BackoffPolicy(first=60.0, maximum=60.0, jitter=0.0, free=0)
    reflector = Reflector(client, COLLECTION, told, times=ReflectorTimes(slow))  # type: ignore[arg-type]
    task = asyncio.create_task(reflector.run())
    while told.said != ["Unreachable"]:
        await asyncio.sleep(0)
    reflector.wake()
    await asyncio.wait_for(client.done.wait(), 5)
    task.cancel()
    assert told.said == ["Unreachable", []]
