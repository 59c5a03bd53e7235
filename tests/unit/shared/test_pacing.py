"""Long loops in pieces."""

from __future__ import annotations

import asyncio

from actors.shared.pacing import pieces


async def test_other_tasks_run_between_batches_and_each_item_comes_once() -> None:
    others: list[int] = []
    done: list[int] = []

    async def other() -> None:
        while len(done) < 10:
            others.append(len(done))
            await asyncio.sleep(0)

    task = asyncio.ensure_future(other())
    async for piece in pieces(range(10), 4):
        assert len(piece) <= 4
        done += piece
    await task
    assert done == list(range(10))
    assert {4, 8} <= set(others)
