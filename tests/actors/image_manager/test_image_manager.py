"""The image manager on a fake runtime: policies, joined pulls, backoff, collection."""

from __future__ import annotations

import asyncio
import errno
import json
import tempfile
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
import pytest

from actors.api_clients.event_client.messages import RecordEvent
from actors.image_manager import actor as module
from actors.image_manager.actor import ImageManager
from actors.image_manager.built_images import BuiltImages
from actors.image_manager.image_collector import COLLECT_SECONDS, OBSERVE_RETRY_SECONDS
from actors.image_manager.messages import (
    EnsureImage,
    GetImages,
    ImageFailed,
    ImageReady,
    PullSecret,
    RemoveUnusedImages,
)
from actors.pod_workers.messages import ShardPods
from actors.shared.config.agent import Agent
from actors.shared.config.fields.duration import Duration
from actors.shared.config.fields.kubelet_configuration import KubeletConfiguration
from proto import cri_pb2 as cri
from supervision.testing.harness import Harness
from tests.support.fake_cri import FakeRuntime, Fault
from tests.support.fake_cri.images import image_id
from tests.support.fake_cri.world import Container

IMAGE = "registry.test/app:1"
Story = Callable[[Harness, FakeRuntime], Awaitable[None]]


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeRuntime:
    runtime = FakeRuntime()
    monkeypatch.setattr(module, "CriClient", lambda *_: runtime.client())
    return runtime


def tell(story: Story, fake: FakeRuntime, root_dir: str = "", *, managed: bool = False, **config: Any) -> None:
    """Without a `root_dir` a new one."""
    if not root_dir:
        with tempfile.TemporaryDirectory() as root_dir:
            tell(story, fake, root_dir, managed=managed, **config)
        return

    async def run() -> None:
        known = KubeletConfiguration(**config)
        context = Agent(config=known, root_dir=root_dir, run_dir=f"{root_dir}/run", managed_runtime=managed)
        async with Harness(ImageManager, name="image_manager", context=context) as harness:
            await story(harness, fake)

    asyncio.run(run())


def wanted(image: str = IMAGE, policy: str = "IfNotPresent", uid: str = "u") -> EnsureImage:
    return EnsureImage(uid, "default", "p", "c", image, policy)


def pulls(fake: FakeRuntime) -> int:
    return len(fake.requests_for("PullImage"))


def test_only_a_missing_image_is_pulled(fake):
    async def story(harness: Harness, fake: FakeRuntime) -> None:
        first = await harness.ask(wanted())
        again = await harness.ask(wanted())
        assert isinstance(first, ImageReady)
        assert (first.pulled, again.pulled, first.image_ref == again.image_ref) == (True, False, True)
        assert pulls(fake) == 1
        await harness.ask(wanted(policy="Always"))
        assert pulls(fake) == 2

    add_image(fake, IMAGE)
    tell(story, fake)


def add_image(fake: FakeRuntime, name: str) -> None:
    """Put it into the registry that the fake pulls from."""
    fake.images.registry[name] = 50_000_000


def test_an_image_that_is_always_pulled_is_not_looked_for_before(fake):
    async def story(harness: Harness, fake: FakeRuntime) -> None:
        await harness.ask(wanted(policy="Always"))
        methods = [method for method, _ in fake.calls if method in ("ImageStatus", "PullImage")]
        assert methods[0] == "PullImage"

    add_image(fake, IMAGE)
    tell(story, fake)


@pytest.mark.parametrize(
    ("image", "policy", "here", "labels"),
    [
        (IMAGE, "Always", True, ("always", "unknown", "true")),
        (IMAGE, "IfNotPresent", False, ("ifnotpresent", "false", "true")),
        (IMAGE, "IfNotPresent", True, ("ifnotpresent", "true", "false")),
        (IMAGE, "Never", True, ("never", "true", "false")),
        (IMAGE, "Never", False, ("never", "false", "unknown")),
        ("UPPER", "Never", False, ("never", "unknown", "unknown")),
    ],
)
def test_each_image_check_is_counted_with_its_outcome(fake, image, policy, here, labels):
    async def story(harness: Harness, fake: FakeRuntime) -> None:
        def counted() -> Counter[tuple[str, ...]]:
            samples = harness.actor.metrics.snapshot("image_manager", 1).samples
            names = ("pull_policy", "present_locally", "pull_required")
            return Counter(
                {
                    tuple(one.labels[name] for name in names): int(one.value)
                    for one in samples
                    if one.name == "kubelet_image_manager_ensure_image_requests_total"
                }
            )

        if here:
            await harness.ask(wanted())
        before = counted()
        await harness.ask(wanted(image, policy))
        assert counted() - before == {labels: 1}

    add_image(fake, IMAGE)
    tell(story, fake)


def test_policy_never_never_pulls(fake):
    async def story(harness: Harness, fake: FakeRuntime) -> None:
        answer = await harness.ask(wanted(policy="Never"))
        assert answer.reason == "ErrImageNeverPull"
        assert pulls(fake) == 0

    tell(story, fake)


@pytest.mark.parametrize("image", ["Bad Name", "UPPER", ""])
def test_an_invalid_image_name_is_reported_without_a_call_to_the_runtime(fake, image):
    async def story(harness: Harness, fake: FakeRuntime) -> None:
        await harness.settle()
        del fake.calls[:]  # the first listing of the images
        assert (await harness.ask(wanted(image))).reason == "InvalidImageName"
        assert fake.calls == []

    tell(story, fake)


def test_identical_pulls_are_one(fake):
    async def story(harness: Harness, fake: FakeRuntime) -> None:
        fake.faults.add("PullImage", Fault(delay=0.1))
        answers = await asyncio.gather(*(harness.ask(wanted(uid=f"u{n}")) for n in range(5)))
        assert {type(answer) for answer in answers} == {ImageReady}
        assert pulls(fake) == 1

    add_image(fake, IMAGE)
    tell(story, fake)


@pytest.mark.slow
def test_a_cached_image_does_not_wait_behind_a_pull(fake):
    async def story(harness: Harness, fake: FakeRuntime) -> None:
        await harness.ask(wanted("registry.test/cached:1"))
        fake.faults.add("PullImage", Fault(delay=3.0))
        slow = asyncio.ensure_future(harness.ask(wanted(), timeout=10))
        await asyncio.sleep(0.05)
        cached = await asyncio.wait_for(harness.ask(wanted("registry.test/cached:1")), 1.0)
        assert isinstance(cached, ImageReady)
        assert not slow.done()
        await slow

    add_image(fake, IMAGE)
    add_image(fake, "registry.test/cached:1")
    tell(story, fake)


def test_a_failed_pull_backs_off_and_is_forgotten_with_its_pod(fake):
    async def story(harness: Harness, fake: FakeRuntime) -> None:
        first, second = (
            await harness.ask(wanted("registry.test/none:1")),
            await harness.ask(wanted("registry.test/none:1")),
        )
        assert isinstance(first, ImageFailed)
        assert (first.reason, second.reason) == ("ErrImagePull", "ImagePullBackOff")
        assert second.message.startswith(f"{second.event}: ErrImagePull: ")
        assert second.event == 'Back-off pulling image "registry.test/none:1"'
        assert 9 < second.retry_seconds <= 10
        assert pulls(fake) == 1
        for worker in range(2):
            await harness.deliver(ShardPods(f"pod_workers/worker/{worker}", 2, []))
        assert (await harness.ask(wanted("registry.test/none:1"))).reason == "ErrImagePull"

    tell(story, fake)


def test_the_runtime_away_is_no_reason_to_back_off(fake):
    async def story(harness: Harness, fake: FakeRuntime) -> None:
        fake.faults.add("ImageStatus", Fault(error="UNAVAILABLE", times=1))
        assert (await harness.ask(wanted())).reason == "ImageInspectError"
        assert isinstance(await harness.ask(wanted()), ImageReady)

    add_image(fake, IMAGE)
    tell(story, fake)


def test_the_runtime_gets_the_pod_of_an_image(fake):
    async def story(harness: Harness, fake: FakeRuntime) -> None:
        about = {"io.containerd.cri.runtime-handler": "kata"}
        asked = msgspec.structs.replace(wanted(), annotations=about, runtime_handler="kata")
        await harness.ask(asked)
        (request,) = fake.requests_for("PullImage")
        pod = request.sandbox_config
        assert (pod.metadata.name, pod.metadata.namespace, pod.metadata.uid) == ("p", "default", "u")
        assert dict(pod.annotations) == dict(request.image.annotations) == about
        assert request.image.runtime_handler == "kata"

    tell(story, fake)


def test_a_pull_is_joined_by_pods_of_its_namespace_only(fake):
    async def story(harness: Harness, fake: FakeRuntime) -> None:
        fake.faults.add("PullImage", Fault(delay=0.1))
        other = msgspec.structs.replace(wanted(uid="x"), namespace="other")
        await asyncio.gather(*(harness.ask(asked) for asked in (wanted(), wanted(uid="v"), other)))
        told = sorted(request.sandbox_config.metadata.namespace for request in fake.requests_for("PullImage"))
        assert told == ["default", "other"]

    tell(story, fake)


def test_images_are_listed_biggest_first(fake):
    async def story(harness: Harness, fake: FakeRuntime) -> None:
        await harness.ask(wanted())
        images = (await harness.deliver(GetImages())).images
        assert [one.size_bytes for one in images] == sorted((one.size_bytes for one in images), reverse=True)
        assert any(IMAGE in one.names for one in images)

    add_image(fake, IMAGE)
    tell(story, fake)


AGELESS: dict[str, Any] = {"imageMinimumGCAge": Duration(0)}


def test_a_full_disk_removes_unused_images_only(fake):
    async def story(harness: Harness, fake: FakeRuntime) -> None:
        await harness.ask(wanted())
        harness.disposables["actors.image_manager.image_collector:disk_of"] = lambda path: [10**12, 10]
        await harness.advance(COLLECT_SECONDS)
        left = (await harness.deliver(GetImages())).images
        assert not any(IMAGE in one.names for one in left)

    add_image(fake, IMAGE)
    tell(story, fake, **AGELESS)


@pytest.mark.parametrize("managed", [True, False])
def test_an_image_that_the_agent_has_built_stays_on_a_full_disk(fake, monkeypatch, managed):
    async def story(harness: Harness, fake: FakeRuntime) -> None:
        harness.disposables["actors.image_manager.image_collector:disk_of"] = lambda path: [10**12, 10]
        await harness.ask(wanted())
        await harness.advance(COLLECT_SECONDS)
        await harness.deliver(RemoveUnusedImages())
        names = [name for one in (await harness.deliver(GetImages())).images for name in one.names]
        assert (IMAGE in names) is managed

    add_image(fake, IMAGE)
    monkeypatch.setattr(BuiltImages, "ids", lambda self: {image_id(IMAGE)} if managed else set())
    tell(story, fake, managed=managed, **AGELESS)


@pytest.mark.parametrize("unknown", ["cgroups", "built images"])
def test_no_image_is_removed_while_it_is_not_known_which_may_be(fake, running, monkeypatch, unknown):
    broken = {unknown}

    def of(what):
        if what in broken:
            raise OSError(errno.EIO, "Input/output error")
        return set()

    async def story(harness: Harness, fake: FakeRuntime) -> None:
        await harness.ask(wanted())
        harness.disposables["actors.image_manager.image_collector:disk_of"] = lambda path: [10**12, 10]
        await harness.advance(COLLECT_SECONDS)
        assert "Input/output error" in (await harness.deliver(RemoveUnusedImages())).problem
        assert fake.requests_for("RemoveImage") == []
        broken.clear()
        assert (await harness.deliver(RemoveUnusedImages())).problem == ""
        assert fake.requests_for("RemoveImage") != []

    monkeypatch.setattr(module, "running_containers", lambda *_: of("cgroups"))
    monkeypatch.setattr(BuiltImages, "ids", lambda _: of("built images"))
    tell(story, fake, managed=True, **AGELESS)


def test_no_image_is_removed_while_a_container_runs_that_the_runtime_does_not_list(fake, running, caplog):
    """containerd that starts on a full disk lists no container."""

    async def story(harness: Harness, fake: FakeRuntime) -> None:
        await harness.ask(wanted())
        harness.disposables["actors.image_manager.image_collector:disk_of"] = lambda path: [10**12, 10]
        running.add("c-unlisted")
        await harness.advance(COLLECT_SECONDS)
        answer = await harness.deliver(RemoveUnusedImages())
        assert fake.requests_for("RemoveImage") == []
        assert "c-unlisted" in answer.problem
        assert "c-unlisted" in caplog.text
        running.clear()
        assert (await harness.deliver(RemoveUnusedImages())).problem == ""
        assert fake.requests_for("RemoveImage") != []

    add_image(fake, IMAGE)
    tell(story, fake, **AGELESS)


@pytest.mark.parametrize("high_percent", [100, 85])
def test_images_that_were_there_at_the_start_are_old_enough_for_an_eviction_two_minutes_later(fake, high_percent):
    async def story(harness: Harness, fake: FakeRuntime) -> None:
        harness.actor._collector._clock = lambda: harness.clock.now
        await harness.advance(OBSERVE_RETRY_SECONDS)
        await harness.advance(115.0 - OBSERVE_RETRY_SECONDS)
        await harness.deliver(RemoveUnusedImages())
        assert fake.requests_for("RemoveImage") == []
        await harness.advance(11.0)
        await harness.deliver(RemoveUnusedImages())
        assert fake.requests_for("RemoveImage") != []

    add_image(fake, IMAGE)
    fake.faults.add("ListImages", Fault(error="UNAVAILABLE", times=1))
    tell(story, fake, imageGCHighThresholdPercent=high_percent)


def test_an_image_that_a_container_has_as_a_volume_is_in_use(fake):
    volume = "registry.test/files:1"

    async def story(harness: Harness, fake: FakeRuntime) -> None:
        async def collected() -> bool:
            await harness.advance(COLLECT_SECONDS)
            return not any(volume in one.names for one in (await harness.deliver(GetImages())).images)

        answer = await harness.ask(wanted(volume))
        mount = cri.Mount(container_path="/files", image=cri.ImageSpec(image=answer.image_ref))
        fake.world.containers["c"] = Container(
            id="c",
            sandbox_id="s",
            config=cri.ContainerConfig(metadata=cri.ContainerMetadata(name="c"), mounts=[mount]),
            image_ref="sha256:another",
            image_name="another",
            created_ns=1,
            log_path="",
            resources=cri.LinuxContainerResources(),
        )
        harness.disposables["actors.image_manager.image_collector:disk_of"] = lambda path: [1000, 10]
        assert not await collected()
        del fake.world.containers["c"]
        assert await collected()

    add_image(fake, volume)
    tell(story, fake, **AGELESS)


def test_an_image_that_cannot_be_removed_does_not_keep_the_disk_full(fake):
    async def story(harness: Harness, fake: FakeRuntime) -> None:
        add_image(fake, "docker.io/library/another:1")
        await harness.ask(wanted())
        harness.disposables["actors.image_manager.image_collector:disk_of"] = lambda path: [1000, 10]
        fake.faults.add("RemoveImage", Fault(error="UNKNOWN", times=1))
        before = len((await harness.deliver(GetImages())).images)
        await harness.advance(COLLECT_SECONDS)
        assert len(fake.requests_for("RemoveImage")) == 2
        assert len((await harness.deliver(GetImages())).images) == before - 1

    add_image(fake, IMAGE)
    tell(story, fake, **AGELESS)


def test_an_unreadable_disk_is_reported_and_crashes_no_actor(fake, caplog):
    def gone(path: str) -> list[int]:
        raise FileNotFoundError(path)

    async def story(harness: Harness, fake: FakeRuntime) -> None:
        harness.disposables["actors.image_manager.image_collector:disk_of"] = gone
        await harness.advance(COLLECT_SECONDS)
        await harness.advance(COLLECT_SECONDS)
        assert (await harness.deliver(GetImages())).images

    add_image(fake, IMAGE)
    tell(story, fake)
    said = [record.getMessage() for record in caplog.records if "image collection failed" in record.getMessage()]
    assert len(said) == 2
    assert "FileNotFoundError" in said[0]


# -- credentials and events -------------------------------------------------------------------------------------------
def docker_config(host: str, *users: str) -> list[bytes]:
    entry = {"username": "", "password": "p"}
    return [json.dumps({"auths": {host: {**entry, "username": user}}}).encode() for user in users]


def tried(fake: FakeRuntime) -> list[str]:
    return [request.auth.username for request in fake.requests_for("PullImage")]


def test_the_pods_credentials_are_tried_before_the_nodes(fake, tmp_path, monkeypatch):
    (tmp_path / "config.json").write_bytes(docker_config("registry.test", "node")[0])
    monkeypatch.chdir(tmp_path)

    async def story(harness: Harness, fake: FakeRuntime) -> None:
        documents = docker_config("registry.test", "first", "second")
        secrets = [PullSecret(str(number), f"s{number}", one) for number, one in enumerate(documents)]
        answer = await harness.ask(msgspec.structs.replace(wanted(), pull_secrets=secrets))
        assert isinstance(answer, ImageFailed)
        assert tried(fake) == ["first", "second", "node"]

    tell(story, fake)  # the registry has no such image, so that each is tried


def test_the_error_of_a_registry_lists_each_credential_once(fake):
    async def story(harness: Harness, fake: FakeRuntime) -> None:
        for details in ("no such user: second", "no such user: first", "no such user: second"):
            fake.faults.add("PullImage", Fault(error="UNKNOWN", details=details, times=1))
        documents = docker_config("registry.test", "first", "second", "third")
        secrets = [PullSecret(str(number), f"s{number}", one) for number, one in enumerate(documents)]
        answer = await harness.ask(msgspec.structs.replace(wanted(), pull_secrets=secrets))
        assert isinstance(answer, ImageFailed)
        assert (answer.reason, len(tried(fake))) == ("ErrImagePull", 3)
        assert answer.message == "[no such user: second, no such user: first]"

    tell(story, fake)


def test_a_pull_has_an_event_at_its_start_and_at_its_end(fake):
    async def story(harness: Harness, fake: FakeRuntime) -> None:
        asked = msgspec.structs.replace(wanted(), field="spec.containers{c}")
        await harness.ask(asked)
        await harness.ask(asked)
        told = [(event.reason, event.message.partition(" in ")[0]) for event in harness.sent(RecordEvent)]
        assert told == [
            ("Pulling", f'Pulling image "{IMAGE}"'),
            ("Pulled", f'Successfully pulled image "{IMAGE}"'),
            ("Pulled", f'Container image "{IMAGE}" already present on machine and can be accessed by the pod'),
        ]
        assert {event.field for event in harness.sent(RecordEvent)} == {"spec.containers{c}"}

    add_image(fake, IMAGE)
    tell(story, fake)
