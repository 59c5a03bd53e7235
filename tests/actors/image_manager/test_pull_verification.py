"""A present image is used only by pods that have its credentials, also after a restart of the agent."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from actors.image_manager import actor as module
from actors.image_manager.image_collector import COLLECT_SECONDS
from actors.image_manager.messages import EnsureImage, ImageFailed, ImageReady, PullSecret
from actors.image_manager.pull_records import Intent, file_name
from supervision.actor import DisposableError
from supervision.testing.harness import Harness
from tests.actors.image_manager.test_image_manager import IMAGE, add_image, pulls, tell, wanted
from tests.support.fake_cri import FakeRuntime, Fault

GATE_OFF: dict[str, Any] = {
    "featureGates": {"KubeletEnsureSecretPulledImages": False},
    "imagePullCredentialsVerificationPolicy": "",
}


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeRuntime:
    runtime = FakeRuntime()
    monkeypatch.setattr(module, "CriClient", lambda *_: runtime.client())
    add_image(runtime, IMAGE)
    return runtime


def by(user: str, uid: str = "u", policy: str = "IfNotPresent") -> EnsureImage:
    """The question of a pod with this user's secret; '' for a pod without one."""
    config = json.dumps({"auths": {"registry.test": {"username": user, "password": "p"}}}).encode()
    secrets = [PullSecret(f"secret-{user}", user, config)] if user else []
    return msgspec.structs.replace(wanted(uid=uid, policy=policy), pull_secrets=secrets)


def users(fake: FakeRuntime) -> list[str]:
    return [request.auth.username for request in fake.requests_for("PullImage")]


def test_another_pods_private_image_is_pulled_again_with_the_pods_own_credentials(fake: FakeRuntime) -> None:
    async def story(harness: Harness, fake: FakeRuntime) -> None:
        for question in (by("owner"), by("owner", "v"), by("stranger", "w"), by("", "x"), by("", "y")):
            assert isinstance(await harness.ask(question), ImageReady)
        # the anonymous pull has shown that everybody may have it
        assert users(fake) == ["owner", "stranger", ""]

    tell(story, fake)


def test_a_pod_without_credentials_fails_under_policy_never(fake: FakeRuntime) -> None:
    async def story(harness: Harness, fake: FakeRuntime) -> None:
        await harness.ask(by("owner"))
        refused = await harness.ask(by("stranger", "w", "Never"))
        assert isinstance(refused, ImageFailed)
        assert refused.reason == "ErrImageNeverPull"
        assert isinstance(await harness.ask(by("owner", "v", "Never")), ImageReady)
        assert pulls(fake) == 1

    tell(story, fake)


@pytest.mark.parametrize(
    ("config", "verified"),
    [
        ({}, False),
        ({"imagePullCredentialsVerificationPolicy": "AlwaysVerify"}, True),
        (GATE_OFF, False),
    ],
)
def test_a_preloaded_image_is_verified_only_with_that_policy(
    fake: FakeRuntime, config: dict[str, Any], verified: bool
) -> None:
    async def preload(harness: Harness, fake: FakeRuntime) -> None:
        await harness.ask(by("owner"))

    async def story(harness: Harness, fake: FakeRuntime) -> None:
        await harness.ask(by("stranger"))
        assert users(fake) == ["owner", *["stranger"] * verified]

    tell(preload, fake, **GATE_OFF)
    tell(story, fake, **config)


def test_the_records_outlive_the_agent(fake: FakeRuntime, tmp_path: Path) -> None:
    async def first(harness: Harness, fake: FakeRuntime) -> None:
        await harness.ask(by("owner"))

    async def second(harness: Harness, fake: FakeRuntime) -> None:
        await harness.ask(by("owner"))
        await harness.ask(by("stranger"))
        assert users(fake) == ["owner", "stranger"]

    tell(first, fake, str(tmp_path))
    assert not list((tmp_path / "image_manager/pulling").iterdir())
    [record] = (tmp_path / "image_manager/pulled").iterdir()
    assert record.stat().st_mode & 0o777 == 0o600
    tell(second, fake, str(tmp_path))


def test_an_interrupted_pull_belongs_to_no_pod(fake: FakeRuntime, tmp_path: Path) -> None:
    async def first(harness: Harness, fake: FakeRuntime) -> None:
        await harness.ask(by("owner"))

    async def second(harness: Harness, fake: FakeRuntime) -> None:
        await harness.wait(lambda: not list((tmp_path / "image_manager/pulling").iterdir()), "the intent is settled")
        await harness.ask(by("owner"))
        assert users(fake) == ["owner", "owner"]

    tell(first, fake, **GATE_OFF)
    pulling = tmp_path / "image_manager/pulling"
    pulling.mkdir(parents=True)
    (pulling / file_name(IMAGE)).write_bytes(msgspec.json.encode(Intent(IMAGE)))
    tell(second, fake, str(tmp_path))


def test_without_its_intent_on_disk_no_image_is_pulled(fake: FakeRuntime) -> None:
    async def story(harness: Harness, fake: FakeRuntime) -> None:
        harness.disposables["actors.image_manager.pull_record_files:change"] = DisposableError("OSError", "disk full")
        failed = await harness.ask(by("owner"))
        assert isinstance(failed, ImageFailed)
        assert (failed.reason, "disk full" in failed.message, pulls(fake)) == ("ErrImagePull", True, 0)

    tell(story, fake)


def test_an_intent_that_was_not_written_blocks_no_preloaded_image(fake: FakeRuntime) -> None:
    async def preload(harness: Harness, fake: FakeRuntime) -> None:
        await harness.ask(by("owner"))

    async def story(harness: Harness, fake: FakeRuntime) -> None:
        harness.disposables["actors.image_manager.pull_record_files:change"] = DisposableError("OSError", "disk full")
        assert isinstance(await harness.ask(by("owner", policy="Always")), ImageFailed)
        assert isinstance(await harness.ask(by("", "v", "Never")), ImageReady)

    tell(preload, fake, **GATE_OFF)
    tell(story, fake)


def test_the_record_of_an_image_that_is_gone_is_removed(fake: FakeRuntime, tmp_path: Path) -> None:
    async def story(harness: Harness, fake: FakeRuntime) -> None:
        await harness.ask(by("owner"))
        pulled = tmp_path / "image_manager/pulled"
        harness.disposables["actors.image_manager.image_collector:disk_of"] = lambda path: [100, 90]
        await harness.advance(COLLECT_SECONDS)
        assert list(pulled.iterdir())
        fake.images.remove(IMAGE)
        await harness.advance(COLLECT_SECONDS)
        await harness.wait(lambda: not list(pulled.iterdir()), "the record is removed")

    tell(story, fake, str(tmp_path))


def test_a_runtime_that_once_lists_no_image_gives_no_private_image_away(fake: FakeRuntime) -> None:
    async def story(harness: Harness, fake: FakeRuntime) -> None:
        await harness.ask(by("owner"))
        harness.disposables["actors.image_manager.image_collector:disk_of"] = lambda path: [100, 90]
        fake.faults.add("ListImages", Fault(unheeded=True))
        await harness.advance(COLLECT_SECONDS)
        fake.faults.clear()
        await harness.ask(by("stranger", "v"))
        assert users(fake) == ["owner", "stranger"]

    tell(story, fake)
