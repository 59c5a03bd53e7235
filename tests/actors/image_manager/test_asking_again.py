"""A container that is told that its pull goes on asks again: it is told how that pull ended, and no other begins."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from actors.image_manager import actor as module
from actors.image_manager.actor import ImageManager
from actors.image_manager.keyring import Credential
from actors.image_manager.messages import EnsureImage, ImageFailed, ImageReady
from supervision.harness import Harness
from tests.actors.image_manager.test_image_manager import IMAGE, add_image, pulls, tell, wanted
from tests.support.fake_cri import FakeRuntime, Fault

PLUGIN, ANSWER, PULL = 0.1, 0.2, 0.25
"""Seconds: a pull ends after its caller was told to ask again, and before a plug-in could have answered anew."""


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeRuntime:
    """A runtime whose pulls take a while, with a plug-in that keeps nothing and gives a new token each time."""
    runtime, tokens = FakeRuntime(), itertools.count()

    async def credentials(*_: Any) -> list[Credential]:
        await asyncio.sleep(PLUGIN)
        return [Credential("plug-in", str(next(tokens)))]

    monkeypatch.setattr(module, "CriClient", lambda *_: runtime.client())
    monkeypatch.setattr(module, "ANSWER_SECONDS", ANSWER)
    monkeypatch.setattr(ImageManager, "_credentials", credentials)
    runtime.faults.add("PullImage", Fault(delay=PULL))
    return runtime


async def until_told(harness: Harness, asked: EnsureImage, pause: float = 0.0) -> ImageReady | ImageFailed:
    """As a worker does; `pause`: seconds between an answer and the next question."""
    for _ in range(10):
        answer: ImageReady | ImageFailed = await harness.ask(asked)
        if isinstance(answer, ImageReady) or not answer.pulling:
            return answer
        await asyncio.sleep(pause)
    raise AssertionError("told again and again that the pull goes on")


@pytest.mark.parametrize("pause", [0.0, 2 * PULL], ids=["at once", "late"])
def test_a_pull_that_fails_in_the_gap_is_told_and_backs_off_once(fake: FakeRuntime, pause: float) -> None:
    async def story(harness: Harness, fake: FakeRuntime) -> None:
        first = await until_told(harness, wanted(policy="Always"), pause)
        second = await harness.ask(wanted(policy="Always"))
        assert (first.reason, second.reason) == ("ErrImagePull", "ImagePullBackOff")
        assert 8 < second.retry_seconds <= 10
        assert pulls(fake) == 1

    tell(story, fake)


def test_a_pull_that_ends_well_in_the_gap_is_told_and_the_next_start_pulls_again(fake: FakeRuntime) -> None:
    async def story(harness: Harness, fake: FakeRuntime) -> None:
        for number in (1, 2):
            answer = await until_told(harness, wanted(policy="Always"), 2 * PULL)
            assert isinstance(answer, ImageReady)
            assert answer.pulled
            assert pulls(fake) == number

    add_image(fake, IMAGE)
    tell(story, fake)


def test_an_image_that_came_in_the_gap_was_pulled_for_who_waited(fake: FakeRuntime) -> None:
    async def story(harness: Harness, fake: FakeRuntime) -> None:
        answers = [await until_told(harness, wanted(), 2 * PULL), await harness.ask(wanted())]
        assert [answer.pulled for answer in answers] == [True, False]
        assert pulls(fake) == 1

    add_image(fake, IMAGE)
    tell(story, fake)


def test_two_containers_of_a_pod_are_told_of_one_failure_and_it_counts_once(fake: FakeRuntime) -> None:
    async def story(harness: Harness, fake: FakeRuntime) -> None:
        other = msgspec.structs.replace(wanted(), container="d", field="spec.containers{d}")
        both = await asyncio.gather(until_told(harness, wanted()), until_told(harness, other, 2 * PULL))
        assert [(answer.reason, answer.retry_seconds) for answer in both] == [("ErrImagePull", 10.0)] * 2
        assert pulls(fake) == 1

    tell(story, fake)


CHANGES: list[Callable[[EnsureImage], EnsureImage]] = [
    lambda asked: msgspec.structs.replace(asked, namespace="other"),
    lambda asked: msgspec.structs.replace(asked, uid="other"),
    lambda asked: msgspec.structs.replace(asked, pull_secrets=[b"{}"]),
]


@pytest.mark.parametrize("change", CHANGES, ids=["namespace", "pod", "secrets"])
def test_what_was_pulled_for_one_is_not_told_to_another(
    fake: FakeRuntime, change: Callable[[EnsureImage], EnsureImage]
) -> None:
    async def story(harness: Harness, fake: FakeRuntime) -> None:
        assert (await harness.ask(wanted(policy="Always"))).pulling
        await asyncio.sleep(2 * PULL)
        await until_told(harness, change(wanted(policy="Always")))
        assert pulls(fake) == 2

    add_image(fake, IMAGE)
    tell(story, fake)
