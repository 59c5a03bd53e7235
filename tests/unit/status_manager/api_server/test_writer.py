"""When the status of a pod is written, and what happens to a write that is no longer needed."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

import pytest

from actors.api_clients.kube_client.messages import ApiAnswer
from actors.status_manager.api_server import writer as module
from actors.status_manager.api_server.steps import Step
from actors.status_manager.api_server.writer import StatusWriter
from actors.status_manager.pods.pod_table import PodTable
from actors.status_manager.times import PodStatusClocks
from supervision.metrics import Metrics


class Standing:
    """The actor: `wanted` has the next step of each pod, `answers` what the API server says of it."""

    log = logging.getLogger("status_manager")

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.metrics = Metrics()
        self.now = 100.0
        self.wanted: dict[str, Any] = {}
        self.answers: dict[str, ApiAnswer | None] = {}
        self.performed: list[str] = []
        self.tasks: list[Coroutine[Any, Any, None]] = []
        self.due: list[tuple[float, Any]] = []
        monkeypatch.setattr(module, "next_step", lambda table, key: self.wanted.get(key))
        actor: Any = self
        clocks = PodStatusClocks(monotonic=lambda: self.now, random=lambda: 0.5)
        self.writer = StatusWriter(actor, PodTable(), "node", clocks, lambda uid: None)
        monkeypatch.setattr(self.writer._calls, "perform", self._perform)

    def want(self, *keys: str) -> None:
        for key in keys:
            self.wanted[key] = _Write(key)
        self.writer.consider_all(keys)

    async def _perform(self, step: Step) -> ApiAnswer | None:
        key = getattr(step, "key", "nothing")
        self.performed.append(key)
        failure = self.answers.get(key)
        if failure is None:
            self.wanted.pop(key, None)
        return failure

    def start_task(self, coroutine: Coroutine[Any, Any, None], name: str) -> None:
        self.tasks.append(coroutine)

    def after(self, seconds: float, call: Any) -> asyncio.TimerHandle:
        self.due.append((seconds, call))
        return asyncio.get_running_loop().call_later(3600.0, lambda: None)

    async def write(self, seconds: float = 60.0) -> list[str]:
        """Time passes, and what is due then is written."""
        self.performed.clear()
        self.now += seconds
        self.writer._pump()
        while self.tasks:
            await self.tasks.pop(0)
        return self.performed


class _Write:
    priority = 0

    def __init__(self, key: str) -> None:
        self.key = key


@pytest.fixture
def standing(monkeypatch: pytest.MonkeyPatch) -> Standing:
    return Standing(monkeypatch)


async def test_a_write_that_is_no_longer_needed_when_its_turn_comes_is_dropped(standing: Standing) -> None:
    standing.want("a", "b")
    del standing.wanted["a"]
    assert await standing.write() == ["b"]
    assert len(standing.writer.backlog) == 0


async def test_a_failed_write_waits_and_is_repeated_and_another_pod_does_not_wait(standing: Standing) -> None:
    standing.answers["a"] = ApiAnswer(status=422, reason="Invalid")
    standing.want("a", "b")
    assert sorted(await standing.write()) == ["a", "b"]
    assert len(standing.writer.backlog) == 1
    assert await standing.write(0.0) == []
    standing.answers.clear()
    assert await standing.write() == ["a"]
    assert len(standing.writer.backlog) == 0


async def test_a_server_that_is_away_holds_up_all_pods_until_it_is_back(standing: Standing) -> None:
    standing.answers["a"] = ApiAnswer(status=0, reason="Unreachable")
    standing.want("a")
    assert await standing.write() == ["a"]
    standing.want("b")
    assert await standing.write(0.0) == []
    standing.answers.clear()
    standing.writer.server_is_back()
    assert sorted(await standing.write(0.0)) == ["a", "b"]


async def test_a_failure_is_logged_once_until_it_is_another_one(
    standing: Standing, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    for reason in ("Invalid", "Invalid", "Forbidden"):
        standing.answers["a"] = ApiAnswer(status=422, reason=reason)
        standing.want("a")
        await standing.write()
    assert [reason for line in caplog.messages for reason in ("Invalid", "Forbidden") if reason in line] == [
        "Invalid",
        "Forbidden",
    ]
