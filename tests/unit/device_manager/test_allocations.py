"""Whose turn it is to allocate devices to a container."""

from __future__ import annotations

import asyncio

import pytest

from actors.device_manager import allocations
from actors.device_manager.allocations import EARLIER_UNANSWERED, RELEASED, Allocations
from actors.device_manager.choice import DevicesUnavailable


async def test_a_caller_that_waits_too_long_gets_an_error_and_the_first_continues(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(allocations, "LOCK_SECONDS", 0.0)
    found, answered = Allocations(), asyncio.Event()

    async def slow() -> str:
        await answered.wait()
        return "devices"

    async def never() -> str:
        raise AssertionError("it is not its turn")

    first = asyncio.ensure_future(found.serialized("u", "c", slow))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    with pytest.raises(DevicesUnavailable, match=EARLIER_UNANSWERED):
        await found.serialized("u", "c", never)
    answered.set()
    assert await first == "devices"


async def test_a_timeout_of_the_work_is_not_reported_as_one_of_its_turn() -> None:
    async def fails() -> str:
        raise TimeoutError("of the plugin")

    with pytest.raises(TimeoutError, match="of the plugin"):
        await Allocations().serialized("u", "c", fails)


async def test_a_release_ends_all_work_for_the_pod() -> None:
    found, started_at = Allocations(), asyncio.Event()

    async def endless() -> str:
        started_at.set()
        await asyncio.Event().wait()
        return ""

    task = asyncio.ensure_future(found.serialized("u", "c", endless))
    await started_at.wait()
    found.cancel("u")
    with pytest.raises(DevicesUnavailable, match=RELEASED):
        await task
