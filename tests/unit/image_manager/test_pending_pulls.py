"""Pending pulls: one for each pod and image, joined by whoever asks, and cancelled with its pod."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from actors.image_manager.messages import EnsureImage, ImageReady, PullSecret
from actors.image_manager.pending_pulls import Outcome, PendingPulls, pull_key

QUESTION = EnsureImage("u", "default", "p", "c", "app", "Always")


class Work:
    """A pull that ends when it is told to, and how often it was begun."""

    def __init__(self) -> None:
        self.begun, self.end = 0, asyncio.Event()

    async def __call__(self) -> Outcome:
        self.begun += 1
        number = self.begun
        await self.end.wait()
        return ImageReady("app", str(number))


def ask(pending: PendingPulls, question: EnsureImage, work: Work) -> asyncio.Task[Outcome | None]:
    return asyncio.ensure_future(pending.outcome(pull_key(question), work))


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_a_pull_continues_without_its_requester_and_the_next_request_joins_it() -> None:
    pending, work = PendingPulls(), Work()
    first = ask(pending, QUESTION, work)
    await settle()
    first.cancel()
    await settle()
    second = ask(pending, msgspec.structs.replace(QUESTION, container="d"), work)
    await settle()
    assert len(pending) == 1
    work.end.set()
    assert await second == ImageReady("app", "1")
    assert await ask(pending, QUESTION, work) == ImageReady("app", "2")
    assert len(pending) == 0


@pytest.mark.parametrize(
    "change",
    [
        {"namespace": "other"},
        {"uid": "other"},
        {"pull_secrets": [PullSecret("1", "other", b"{}")]},
        {"runtime_handler": "other"},
        {"service_account": "other"},
        {"image": "other"},
    ],
    ids=lambda change: next(iter(change)),
)
async def test_a_pull_is_joined_only_for_the_same_pod_image_and_credentials(change: dict[str, object]) -> None:
    pending, work = PendingPulls(), Work()
    both = [ask(pending, one, work) for one in (QUESTION, msgspec.structs.replace(QUESTION, **change))]
    await settle()
    work.end.set()
    assert {outcome.image_ref for one in both if isinstance(outcome := await one, ImageReady)} == {"1", "2"}


async def test_the_pulls_of_pods_that_are_gone_are_cancelled() -> None:
    pending, work = PendingPulls(), Work()
    gone, kept = (ask(pending, msgspec.structs.replace(QUESTION, uid=uid), work) for uid in ("gone", "kept"))
    await settle()
    pending.cancel(lambda uid: uid == "kept")
    assert await gone is None
    work.end.set()
    assert isinstance(await kept, ImageReady)
