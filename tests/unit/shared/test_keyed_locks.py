"""Locks by key."""

from __future__ import annotations

import asyncio

from actors.shared.keyed_locks import KeyedLocks


async def test_one_operation_at_a_time_for_a_key_and_any_number_for_others() -> None:
    locks, order = KeyedLocks(), list[str]()

    async def operate(key: str, name: str, steps: int) -> None:
        async with locks.hold(key):
            order.append(f"{name} begins")
            for _ in range(steps):
                await asyncio.sleep(0)
            order.append(f"{name} ends")

    async with asyncio.timeout(20):
        await asyncio.gather(operate("a", "first", 9), operate("a", "second", 1), operate("b", "other", 1))
    assert order.index("first ends") < order.index("second begins")
    assert order.index("other ends") < order.index("first ends")


async def test_a_lock_is_removed_with_its_last_user_also_after_an_error() -> None:
    locks = KeyedLocks()

    async def fail() -> None:
        async with locks.hold("a"):
            await asyncio.sleep(0)
            assert len(locks) == 1
            raise OSError("no")

    async def wait() -> None:
        async with locks.hold("a"):
            assert len(locks) == 1

    async with asyncio.timeout(20):
        first, second = await asyncio.gather(fail(), wait(), return_exceptions=True)
    assert isinstance(first, OSError)
    assert second is None
    assert len(locks) == 0
