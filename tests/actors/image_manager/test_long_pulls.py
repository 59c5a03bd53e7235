"""Pulls that take long: one question, one answer; a worker that asks again joins the pull."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from actors.api_clients.event_client.messages import RecordEvent
from actors.image_manager import actor as module
from actors.image_manager.credential_lookup import CredentialLookup
from actors.image_manager.keyring import Credential
from actors.image_manager.messages import EnsureImage, GetPendingImages, ImageFailed, ImageReady, PullSecret
from actors.image_manager.pull_records import FoundCredential
from actors.pod_workers.messages import ShardPods
from supervision.testing.harness import Harness
from tests.actors.image_manager.test_image_manager import IMAGE, add_image, pulls, tell, wanted
from tests.support.fake_cri import FakeRuntime, Fault

PLUGIN, PULL = 0.05, 0.3
"""Seconds that a plug-in takes, and a pull after it."""
ALWAYS = msgspec.structs.replace(wanted(policy="Always"), field="spec.containers{c}")
SECOND = msgspec.structs.replace(ALWAYS, container="d", field="spec.containers{d}")


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeRuntime:
    """A runtime whose pulls take a while, with a plug-in that keeps nothing and gives a new token each time."""
    runtime, tokens = FakeRuntime(), itertools.count()

    async def credentials(*_: Any) -> list[FoundCredential]:
        await asyncio.sleep(PLUGIN)
        return [FoundCredential(Credential("plug-in", str(next(tokens))))]

    monkeypatch.setattr(module, "CriClient", lambda *_: runtime.client())
    monkeypatch.setattr(CredentialLookup, "find", credentials)
    runtime.faults.add("PullImage", Fault(delay=PULL))
    return runtime


def reasons(harness: Harness, field: str = ALWAYS.field) -> list[str]:
    return [event.message.partition(" image")[0] for event in harness.sent(RecordEvent) if event.field == field]


def test_the_pulls_that_a_pod_waits_for_are_told(fake: FakeRuntime) -> None:
    async def story(harness: Harness, fake: FakeRuntime) -> None:
        other, held = msgspec.structs.replace(ALWAYS, uid="other", image="docker.io/library/other:1"), asyncio.Event()
        fake.faults.clear()
        fake.faults.add("PullImage", Fault(held=held))
        asking = [asyncio.ensure_future(harness.ask(one, timeout=10)) for one in (ALWAYS, other)]

        async def pending(uid: str) -> list[tuple[str, int | None]]:
            found = await harness.deliver(GetPendingImages(uid))
            return [(one.name, one.before) for one in found.images]

        both = [(ALWAYS.image, None)], [(other.image, 1)]
        while (await pending(ALWAYS.uid), await pending(other.uid)) != both:
            await asyncio.sleep(0)
        assert await pending("third") == []
        held.set()
        await asyncio.gather(*asking)
        assert await pending(ALWAYS.uid) == await pending(other.uid) == []

    add_image(fake, IMAGE)
    tell(story, fake)


def test_a_question_is_answered_when_its_pull_has_ended(fake: FakeRuntime) -> None:
    async def story(harness: Harness, fake: FakeRuntime) -> None:
        asking = asyncio.ensure_future(harness.ask(ALWAYS, timeout=10))
        await asyncio.sleep(PLUGIN + PULL / 2)
        assert not asking.done()
        answer = await asking
        assert isinstance(answer, ImageReady)
        assert answer.pulled
        assert reasons(harness) == ["Pulling", "Successfully pulled"]

    add_image(fake, IMAGE)
    tell(story, fake)


def test_a_repeated_request_joins_the_pull_and_causes_one_event(fake: FakeRuntime) -> None:
    async def story(harness: Harness, fake: FakeRuntime) -> None:
        first = asyncio.ensure_future(harness.ask(ALWAYS, timeout=10))
        await asyncio.sleep(PLUGIN + PULL / 2)
        second = await harness.ask(ALWAYS, timeout=10)
        assert isinstance(second, ImageReady)
        assert await first == second
        assert pulls(fake) == 1
        assert reasons(harness) == ["Pulling", "Successfully pulled"]
        assert isinstance(await harness.ask(ALWAYS, timeout=10), ImageReady)
        assert pulls(fake) == 2  # the next start of the container pulls again

    add_image(fake, IMAGE)
    tell(story, fake)


def test_two_containers_of_a_pod_get_one_failure_that_counts_once(fake: FakeRuntime) -> None:
    async def story(harness: Harness, fake: FakeRuntime) -> None:
        both = await asyncio.gather(harness.ask(ALWAYS, timeout=10), harness.ask(SECOND, timeout=10))
        assert [(answer.reason, answer.retry_seconds) for answer in both] == [("ErrImagePull", 10.0)] * 2
        assert (await harness.ask(ALWAYS)).reason == "ImagePullBackOff"
        assert pulls(fake) == 1

    tell(story, fake)


def test_two_containers_of_a_pod_each_have_their_events(fake: FakeRuntime) -> None:
    async def story(harness: Harness, fake: FakeRuntime) -> None:
        await asyncio.gather(harness.ask(ALWAYS, timeout=10), harness.ask(SECOND, timeout=10))
        assert reasons(harness) == reasons(harness, SECOND.field) == ["Pulling", "Successfully pulled"]

    add_image(fake, IMAGE)
    tell(story, fake)


CHANGES: list[Callable[[EnsureImage], EnsureImage]] = [
    lambda question: msgspec.structs.replace(question, namespace="other"),
    lambda question: msgspec.structs.replace(question, uid="other"),
    lambda question: msgspec.structs.replace(question, pull_secrets=[PullSecret("1", "s", b"{}")]),
]


@pytest.mark.parametrize("change", CHANGES, ids=["namespace", "pod", "secrets"])
def test_a_pull_for_one_pod_is_not_joined_by_a_pod_with_other_credentials(
    fake: FakeRuntime, change: Callable[[EnsureImage], EnsureImage]
) -> None:
    async def story(harness: Harness, fake: FakeRuntime) -> None:
        await asyncio.gather(harness.ask(ALWAYS, timeout=10), harness.ask(change(ALWAYS), timeout=10))
        assert pulls(fake) == 2

    add_image(fake, IMAGE)
    tell(story, fake)


def test_the_pull_of_a_pod_that_is_gone_is_given_up(fake: FakeRuntime) -> None:
    async def story(harness: Harness, fake: FakeRuntime) -> None:
        fake.faults.add("PullImage", Fault(delay=60.0))
        asking = asyncio.ensure_future(harness.ask(ALWAYS, timeout=10))
        await asyncio.sleep(2 * PLUGIN)
        for worker in range(2):
            await harness.deliver(ShardPods(f"pod_workers/worker/{worker}", 2, []))
        answer = await asking
        assert isinstance(answer, ImageFailed)
        assert "the pod is gone" in answer.message

    tell(story, fake)
