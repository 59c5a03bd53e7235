"""When probes run: each has one timer or one run, never both."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

from actors.prober.probe_type import Key
from actors.prober.schedule import Schedule
from supervision.actor import Actor
from supervision.testing.harness import Harness

KEY: Key = ("u", "a", "liveness")


class Site:
    """An actor whose probes run until they are released."""

    def __init__(self) -> None:
        self.harness = Harness(Actor)
        self.started_at: list[Key] = []
        self.released = asyncio.Event()
        self.finished = False
        self.schedule = Schedule(self.harness.actor, self.run, lambda key: None)

    async def run(self, key: Key) -> None:
        self.started_at.append(key)
        await self.released.wait()
        self.finished = True
        self.schedule.ran(key)


@contextlib.asynccontextmanager
async def on_site() -> AsyncIterator[Site]:
    site = Site()
    async with site.harness:
        yield site
        site.schedule.end(KEY)


async def test_a_probe_runs_once_when_it_is_due():
    async with on_site() as site:
        site.schedule.set(KEY, 5.0)
        site.schedule.set(KEY, 1.0)
        await site.harness.advance(4.9)
        assert site.started_at == []
        await site.harness.advance(0.2)
        assert site.started_at == [KEY]


async def test_a_running_probe_is_not_scheduled_until_it_ends():
    async with on_site() as site:
        site.schedule.set(KEY, 0.0)
        await site.harness.advance(0.0)
        site.schedule.set(KEY, 0.0)
        await site.harness.advance(10.0)
        assert site.started_at == [KEY]
        site.released.set()
        await site.harness.settle()
        site.schedule.set(KEY, 0.0)
        await site.harness.advance(0.0)
        assert site.started_at == [KEY, KEY]


async def test_an_unset_probe_does_not_run_and_a_running_one_continues():
    async with on_site() as site:
        site.schedule.set(KEY, 1.0)
        site.schedule.unset(KEY)
        await site.harness.advance(2.0)
        assert site.started_at == []
        site.schedule.set(KEY, 0.0)
        await site.harness.advance(0.0)
        site.schedule.unset(KEY)
        site.schedule.set(KEY, 0.0)
        await site.harness.advance(5.0)
        assert site.started_at == [KEY], "it still runs"


async def test_an_ended_probe_is_cancelled_and_may_start_again():
    async with on_site() as site:
        site.schedule.set(KEY, 0.0)
        await site.harness.advance(0.0)
        site.schedule.end(KEY)
        await site.harness.settle()
        site.schedule.set(KEY, 0.0)
        await site.harness.advance(0.0)
        assert site.started_at == [KEY, KEY]


async def test_an_ended_probe_loses_its_timer_and_its_run():
    async with on_site() as site:
        site.schedule.set(KEY, 1.0)
        site.schedule.end(KEY)
        await site.harness.advance(5.0)
        assert site.started_at == []
        site.schedule.set(KEY, 0.0)
        await site.harness.advance(0.0)
        site.schedule.end(KEY)
        site.released.set()
        await site.harness.settle()
        assert not site.finished, "the run is cancelled"
