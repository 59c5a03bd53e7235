"""How often an unchanged status of the node is written, and that two writes never run at once."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from actors.api_clients.heartbeat_client import status_sync
from actors.api_clients.heartbeat_client.node_status.status import ComputedNode
from actors.api_clients.heartbeat_client.node_writer import WrittenStatus
from actors.api_clients.heartbeat_client.status_sync import StatusSync, StatusSyncClocks

EVERY = 300.0


class Writer:
    """Of the node: `changed` says whether the status has changed."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1000.0
        self.changed = True
        self.seen: list[Any] = []
        self.running = self.most = 0
        monkeypatch.setattr(status_sync, "compute", lambda node, *_, **__: ComputedNode(node, []))
        clocks = StatusSyncClocks(monotonic=lambda: self.now, wall=lambda: self.now, rng=lambda: 0.5)
        writer: Any = self
        nothing: Any = None
        self.sync = StatusSync(writer, nothing, clocks, EVERY, facts=lambda: nothing, seen=self.seen.append)

    async def update(self, compute: Any, due: Any) -> WrittenStatus | None:
        self.running += 1
        self.most = max(self.most, self.running)
        await asyncio.sleep(0)
        computed = compute({"name": "n1"})
        self.running -= 1
        return WrittenStatus(computed, self.changed) if due(self.changed) else None

    async def writes(self, seconds: float) -> bool:
        self.now += seconds
        return await self.sync.sync() is not None


async def test_an_unchanged_status_is_written_again_only_after_the_report_frequency(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    writer = Writer(monkeypatch)
    assert await writer.writes(0.0), "the first one is due"
    writer.changed = False
    assert [await writer.writes(seconds) for seconds in (10.0, EVERY - 11.0, 1.0)] == [False, False, True]
    assert not await writer.writes(10.0)
    writer.changed = True
    assert await writer.writes(1.0), "a change is written at once"
    assert writer.seen == [{"name": "n1"}] * 6, "each look at the node is told"


async def test_one_status_is_written_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    writer = Writer(monkeypatch)
    await asyncio.gather(*(writer.sync.sync() for _ in range(3)))
    assert writer.most == 1
