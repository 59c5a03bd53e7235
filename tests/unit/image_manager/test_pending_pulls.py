"""Outcomes of pulls are kept for the containers that were told to ask again, for a while, and taken once."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from actors.image_manager.messages import EnsureImage, ImageReady
from actors.image_manager.pending_pulls import KEPT_SECONDS, Asked, Outcome

WANTED = EnsureImage("u", "default", "p", "c", "app", "Always")
SHORT = 0.01


class Works:
    """Work that ends when it is let go, and how often it was begun."""

    def __init__(self) -> None:
        self.begun, self.end = 0, asyncio.Event()

    async def __call__(self) -> Outcome:
        self.begun += 1
        number = self.begun
        await self.end.wait()
        return ImageReady("app", str(number))


async def ended(works: Works) -> None:
    works.end.set()
    for _ in range(5):
        await asyncio.sleep(0)


async def test_an_outcome_that_nobody_waited_for_is_taken_once_by_who_was_told_to_ask_again() -> None:
    asked, works = Asked(lambda: 0.0), Works()
    assert await asked.outcome(WANTED, works, SHORT) is None
    await ended(works)
    assert asked.expected(WANTED)
    assert await asked.outcome(WANTED, works, SHORT) == ImageReady("app", "1")
    assert not asked.expected(WANTED)
    assert await asked.outcome(WANTED, works, SHORT) == ImageReady("app", "2")


@pytest.mark.parametrize(
    "change",
    [
        {"namespace": "other"},
        {"uid": "other"},
        {"pull_secrets": [b"other"]},
        {"runtime_handler": "other"},
        {"service_account": "other"},
        {"image": "other"},
        {"container": "other"},
    ],
    ids=lambda change: next(iter(change)),
)
async def test_an_outcome_is_for_nobody_else(change: dict[str, object]) -> None:
    asked, works = Asked(lambda: 0.0), Works()
    await asked.outcome(WANTED, works, SHORT)
    await ended(works)
    assert await asked.outcome(msgspec.structs.replace(WANTED, **change), works, SHORT) == ImageReady("app", "2")
    assert await asked.outcome(WANTED, works, SHORT) == ImageReady("app", "1")


async def test_containers_of_a_pod_wait_for_the_same_work_and_each_takes_its_outcome() -> None:
    asked, works = Asked(lambda: 0.0), Works()
    other = msgspec.structs.replace(WANTED, container="d")
    for one in (WANTED, other, WANTED):
        assert await asked.outcome(one, works, SHORT) is None
    await ended(works)
    assert [await asked.outcome(one, works, SHORT) for one in (WANTED, other)] == [ImageReady("app", "1")] * 2


async def test_an_outcome_that_is_not_taken_is_forgotten_after_a_while() -> None:
    now = 0.0
    asked, works = Asked(lambda: now), Works()
    await asked.outcome(WANTED, works, SHORT)
    now = 1000.0  # a pull may take long; its outcome ages from its end on
    await ended(works)
    now += KEPT_SECONDS - 1
    assert asked.expected(WANTED)
    now += 1
    assert not asked.expected(WANTED)
    assert (asked.told, asked.going) == (0, 0)


async def test_pods_that_are_gone_are_forgotten_even_if_their_pull_hangs() -> None:
    asked, works = Asked(lambda: 0.0), Works()
    gone, waits = (
        msgspec.structs.replace(WANTED, uid="gone"),
        msgspec.structs.replace(WANTED, uid="gone", container="w"),
    )
    assert [await asked.outcome(one, works, SHORT) for one in (WANTED, gone)] == [None, None]
    waiting = asyncio.ensure_future(asked.outcome(waits, works, 5.0))
    await asyncio.sleep(0)
    asked.retain(lambda uid: uid == "u")
    assert await waiting is None
    assert (asked.told, asked.going, asked.expected(WANTED)) == (1, 1, True)
    await ended(works)
    assert await asked.outcome(WANTED, works, SHORT) == ImageReady("app", "1")
