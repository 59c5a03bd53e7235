"""An image whose pull ends the image manager again and again is left alone; other images are pulled."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from actors.image_manager.actor import ImageManager
from actors.image_manager.messages import EnsureImage, ImageFailed, ImageReady, PullSecret
from actors.image_manager.pull_request import image_spec
from actors.shared.config.agent import Agent
from actors.shared.input_quarantine import POLICY
from supervision.testing.harness import Harness
from tests.support.fake_cri import FakeRuntime

GOOD, BAD = "registry.example/good:1", "registry.example/bad:1"
POISONED = PullSecret("s1", "poison", b"{}")


class Poison(Exception):
    """What the work for the bad image raises."""


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeRuntime:
    runtime = FakeRuntime()
    runtime.images.registry.update({GOOD: 1000, BAD: 1000})
    monkeypatch.setattr("actors.image_manager.actor.CriClient", lambda *_, **__: runtime.client())

    def poisoned(question: EnsureImage, image: str) -> object:
        if image == BAD or POISONED in question.pull_secrets:
            raise Poison
        return image_spec(question, image)

    monkeypatch.setattr("actors.image_manager.image_pulls.image_spec", poisoned)
    return runtime


def wanted(image: str, uid: str = "u", *secrets: PullSecret) -> EnsureImage:
    return EnsureImage(uid, "n", "p", "c", image, "IfNotPresent", pull_secrets=list(secrets))


def started(home: Path) -> Harness[ImageManager]:
    agent = Agent(root_dir=str(home), run_dir=f"{home}/run", workers=1)
    return Harness(ImageManager, name="image_manager", context=agent)


async def dies(home: Path, question: EnsureImage) -> None:
    for _ in range(POLICY.crashes):
        with pytest.raises(Poison):
            async with started(home) as manager:
                await manager.deliver(question)


async def test_after_three_deaths_an_image_is_set_aside_by_name_for_every_pod(
    tmp_path: Path, fake: FakeRuntime
) -> None:
    await dies(tmp_path, wanted(BAD))
    async with started(tmp_path) as manager:
        for uid in ("u", "another"):
            answer = await manager.deliver(wanted(BAD, uid))
            assert isinstance(answer, ImageFailed)
            assert answer.reason == "ErrImagePull"
            assert answer.message.startswith("pulls of this image ended image_manager 3 times")
        assert isinstance(await manager.deliver(wanted(GOOD)), ImageReady)


async def test_a_secret_that_crashes_the_actor_does_not_quarantine_the_image(tmp_path: Path, fake: FakeRuntime) -> None:
    question = wanted(GOOD, "u", POISONED)
    await dies(tmp_path, question)
    async with started(tmp_path) as manager:
        assert isinstance(await manager.deliver(question), ImageFailed)
        mended = msgspec.structs.replace(question, pull_secrets=[PullSecret("s1", "poison", b"{ }")])
        assert isinstance(await manager.deliver(mended), ImageReady)
        assert isinstance(await manager.deliver(wanted(GOOD)), ImageReady)
