"""When the runtime is asked for the status of a single pod."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest

from actors.pleg import status_calls
from actors.pleg.status_calls import AT_ONCE, Failure, ListedPod, StatusCalls, listed_pods
from actors.shared.cri.client import CriClient
from actors.shared.cri.errors import CriError
from actors.shared.cri.model import CriContainer, CriContainerState, PodRuntime, Sandbox
from actors.shared.cri.pod_lookup import KnownIds
from supervision.actor import Actor
from supervision.testing.harness import Harness


class Nobody(Actor):
    """The calls are those of any actor."""


class Runtime:
    """Answers each call once it is let go, with an error if there is one."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(status_calls, "look", self._look)
        self.asked: list[str] = []
        self.error: CriError | None = None
        self._go = asyncio.Event()

    async def _look(self, client: Any, uid: str, known: KnownIds) -> PodRuntime:
        self.asked.append(uid)
        await self._go.wait()
        if self.error is not None:
            raise self.error
        return PodRuntime(uid=uid)

    async def answer(self) -> None:
        """All calls, those too that an answer lets begin."""
        self._go.set()
        for _ in range(20):
            await asyncio.sleep(0)
        self._go.clear()


class Story:
    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.runtime = Runtime(monkeypatch)
        self.harness = Harness(Nobody, name="pleg")
        self.outcomes: list[tuple[str, PodRuntime | Failure]] = []
        self.calls = StatusCalls(
            self.harness.actor, cast(CriClient, None), dict, lambda *one: self.outcomes.append(one)
        )

    async def ask(self, *uids: str) -> list[bool]:
        """Whether a call began for each."""
        begun = [self.calls.ask(uid) is not None for uid in uids]
        for _ in range(5):
            await asyncio.sleep(0)
        return begun


async def test_a_pod_that_is_asked_for_during_its_call_is_asked_for_once_more(monkeypatch: pytest.MonkeyPatch) -> None:
    story = Story(monkeypatch)
    async with story.harness:
        assert await story.ask("u", "u", "v", "u") == [True, False, True, False]
        assert story.runtime.asked == ["u", "v"]
        await story.runtime.answer()
        assert story.runtime.asked == ["u", "v", "u"]
        assert [uid for uid, _ in story.outcomes] == ["u", "v", "u"]
        assert await story.ask("u") == [True], "nothing is under way any more"


async def test_after_a_failure_the_pod_waits_for_the_next_relist(monkeypatch: pytest.MonkeyPatch) -> None:
    story = Story(monkeypatch)
    story.runtime.error = CriError("PodSandboxStatus", "UNAVAILABLE", "away")
    async with story.harness:
        await story.ask("u", "u")
        await story.runtime.answer()
        assert story.runtime.asked == ["u"]
        ((uid, outcome),) = story.outcomes
        assert (uid, "away" in str(outcome), isinstance(outcome, Failure)) == ("u", True, True)
        story.runtime.error = None
        assert await story.ask("u") == [True]
        await story.runtime.answer()
        assert story.runtime.asked == ["u", "u"], "the question before the failure is not repeated"
        assert story.outcomes[-1] == ("u", PodRuntime(uid="u"))


async def test_a_bounded_number_of_pods_is_asked_for_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    story = Story(monkeypatch)
    uids = [f"u{number}" for number in range(AT_ONCE + 3)]
    async with story.harness:
        assert all(await story.ask(*uids))
        assert story.runtime.asked == uids[:AT_ONCE]
        await story.runtime.answer()
        assert [uid for uid, _ in story.outcomes] == uids


def test_the_pods_of_a_relist_have_their_sandboxes_and_containers() -> None:
    sandboxes = [Sandbox(id=f"box-{uid}", pod_uid=uid, pod_name="p", pod_namespace="n") for uid in ("u", "v", "other")]
    containers = [
        CriContainer(id=f"c-{uid}", name="a", pod_uid=uid, sandbox_id=f"box-{uid}", state=CriContainerState.RUNNING)
        for uid in ("u", "other")
    ]
    assert listed_pods(7.0, frozenset(("u", "v", "gone")), sandboxes, containers) == {
        "u": ListedPod(7.0, ["box-u"], {"c-u": "box-u"}),
        "v": ListedPod(7.0, ["box-v"]),
        "gone": ListedPod(7.0),
    }
