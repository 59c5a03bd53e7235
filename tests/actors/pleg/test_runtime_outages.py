"""The PLEG and a runtime that errs or has no events: what `supervise status` shows, how often the runtime is asked."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from typing import Any

import pytest

from actors.pleg import actor as module
from actors.pleg.actor import RELIST_SECONDS, Pleg
from actors.shared.config.agent import Agent
from actors.shared.cri.service_outage import POLL_SECONDS, RUNTIME, SILENT_SECONDS, ServiceOutage
from supervision.process_messages import ServiceState
from supervision.testing.harness import Harness
from tests.support.fake_cri import FakeRuntime, Fault

Node = Harness[Pleg]
ENDPOINT = "unix:///run/x/containerd.sock"


def tell(fake: FakeRuntime, monkeypatch: pytest.MonkeyPatch, story: Callable[[Node], Awaitable[None]]) -> None:
    async def run() -> None:
        async with Harness(Pleg, name="pleg", context=Agent(workers=2, runtime_endpoint=ENDPOINT)) as harness:
            await harness.advance(0)
            await story(harness)

    monkeypatch.setattr(module, "CriClient", lambda *_, **__: fake.client())
    asyncio.run(run())


def test_a_runtime_that_answers_each_list_with_an_error_is_reported_until_it_lists_again(monkeypatch):
    fake, seconds = FakeRuntime("1.6"), [100.0]
    monkeypatch.setattr(module, "ServiceOutage", partial(ServiceOutage, clock=lambda: seconds[0]))

    async def story(harness: Node) -> None:
        def told() -> list[str]:
            return [one.text for one in harness.sent(ServiceState) if one.service == RUNTIME]

        async def wait(duration: float) -> None:
            for _ in range(int(duration)):
                seconds[0] += 1
                await harness.advance(1)

        fake.faults.add("ListPodSandbox", Fault(error="UNKNOWN", details="a broken store"))
        await wait(SILENT_SECONDS - POLL_SECONDS)
        assert told()[1:] == []
        await wait(2 * POLL_SECONDS)
        assert told()[1:] == [f"{ENDPOINT} answers with errors: ListPodSandbox: a broken store"]
        fake.faults.clear()
        await wait(2 * RELIST_SECONDS)
        assert told()[2:] == [""]

    tell(fake, monkeypatch, story)


@pytest.mark.parametrize(("code", "again"), [("UNAVAILABLE", True), ("UNIMPLEMENTED", False)])
def test_only_a_runtime_that_may_have_events_is_asked_for_them_again(monkeypatch, code, again):
    fake = FakeRuntime("2.1")
    asked, events = [], fake.events

    def counted() -> AsyncIterator[Any]:
        asked.append(code)
        return events()

    monkeypatch.setattr(fake, "events", counted)
    monkeypatch.setattr(module, "EVENTS_RETRY_SECONDS", 0.0)
    fake.faults.add("GetContainerEvents", Fault(error=code))

    async def story(harness: Node) -> None:
        for _ in range(20):
            await harness.advance(0)
        assert (len(asked) > 1) == again
        assert asked

    tell(fake, monkeypatch, story)
