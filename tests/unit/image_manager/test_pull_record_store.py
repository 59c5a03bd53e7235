"""Intents of pulls: they stay as long as an image may come, or have come, that has no record."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest

from actors.image_manager import pull_record_files
from actors.image_manager.keyring import Credential
from actors.image_manager.pull_record_files import PULLED, PULLING
from actors.image_manager.pull_record_store import PullRecords, RecordsUnreadable
from actors.image_manager.pull_records import FoundCredential, ImagePullSecret, Intent, file_name
from actors.shared.config.fields.kubelet_configuration import KubeletConfiguration
from actors.shared.cri.errors import Unavailable
from supervision.actor import DisposableError
from supervision.metrics import Metrics

IMAGE, OTHER, NAME, REF = "registry.test/app:1", "registry.test/other:1", "registry.test/app", "sha256:1"


class Disk:
    """The actor: what it is asked to do in another process it does at once."""

    log = logging.getLogger("test")

    def __init__(self) -> None:
        self.metrics = Metrics()
        self.fails = False

    async def disposable(self, function: str, arguments: dict[str, Any], deadline: float) -> Any:
        if self.fails:
            raise DisposableError("OSError", "input/output error")
        perform: Callable[..., Any] = getattr(pull_record_files, function.partition(":")[2])
        return perform(**arguments)


def records(root: Path) -> PullRecords:
    return PullRecords(cast(Any, Disk()), str(root), KubeletConfiguration())


async def loaded(root: Path) -> PullRecords:
    found = records(root)
    await found.load(no_image)
    return found


async def no_image(image: str) -> str:
    return ""


async def no_credentials() -> list[FoundCredential]:
    return []


async def is_preloaded(found: PullRecords) -> bool:
    """Everybody may use it."""
    return await found.verified(NAME, IMAGE, REF, no_credentials)


def numbers(found: PullRecords) -> dict[str, float]:
    """By name and labels, without what they have in common."""
    samples = found._actor.metrics.snapshot("a", 1).samples
    return {
        " ".join([one.name.removeprefix("kubelet_imagemanager_"), *dict(one.labels).values()]): one.value
        for one in samples
    }


def intents(root: Path) -> list[str]:
    return [path.name for path in (root / PULLING).iterdir()]


def leave_intent(root: Path) -> None:
    """Of an agent that ended during the pull."""
    pull_record_files.change(str(root), {f"{PULLING}/{file_name(IMAGE)}": msgspec.json.encode(Intent(IMAGE))}, [])


async def test_records_intents_and_checks_are_counted(tmp_path: Path) -> None:
    found = await loaded(tmp_path)
    assert await is_preloaded(found)
    await found.start(IMAGE)
    counted = {
        "ondisk_pulledrecords": 0,
        "ondisk_pullintents": 1,
        "image_mustpull_checks_total credentialPolicyAllowed": 1,
    }
    assert numbers(found) == counted
    assert not await is_preloaded(found)
    await found.succeeded(IMAGE, NAME, REF, None)
    assert await is_preloaded(found)
    more = {"image_mustpull_checks_total mustAuthenticate": 1, "image_mustpull_checks_total credentialRecordFound": 1}
    assert numbers(found) == counted | more | {"ondisk_pulledrecords": 1, "ondisk_pullintents": 0}
    await found.forget(found.recorded())
    assert numbers(found)["ondisk_pulledrecords"] == 0


async def test_an_image_that_is_pulled_again_while_its_record_is_removed_has_a_record(tmp_path: Path) -> None:
    found = await loaded(tmp_path)
    await found.start(IMAGE)
    await found.succeeded(IMAGE, NAME, REF, None)
    await found.start(IMAGE)
    removing, perform = asyncio.Event(), found._actor.disposable

    async def slow_removal(function: str, arguments: dict[str, Any], deadline: float) -> Any:
        if not arguments["written"] and not removing.is_set():
            removing.set()
            for _ in range(5):
                await asyncio.sleep(0)
        return await perform(function, arguments, deadline=deadline)

    found._actor.disposable = slow_removal  # type: ignore[method-assign]
    forgetting = asyncio.create_task(found.forget(found.recorded()))
    await removing.wait()
    await found.succeeded(IMAGE, NAME, REF, None)
    await forgetting
    assert list(found.recorded()) == [REF]
    assert [path.name for path in (tmp_path / PULLED).iterdir()] == [file_name(REF)]


async def test_an_image_that_is_pulled_again_after_it_was_missed_keeps_its_record(tmp_path: Path) -> None:
    """A collection removes images for a while after it has listed them."""
    found = await loaded(tmp_path)
    await found.start(IMAGE)
    await found.succeeded(IMAGE, NAME, REF, None)
    missed = found.recorded()
    await found.start(IMAGE)
    await found.succeeded(IMAGE, NAME, REF, None)
    await found.forget(missed)
    assert list(found.recorded()) == [REF]
    assert [path.name for path in (tmp_path / PULLED).iterdir()] == [file_name(REF)]
    await found.forget(found.recorded())
    assert (found.recorded(), list((tmp_path / PULLED).iterdir())) == ({}, [])


async def test_the_failure_of_one_pull_leaves_the_intent_to_the_other_pulls_of_the_image(tmp_path: Path) -> None:
    found = await loaded(tmp_path)
    await found.start(IMAGE)
    await found.start(IMAGE)
    await found.failed(IMAGE)
    assert (await is_preloaded(found), intents(tmp_path)) == (False, [file_name(IMAGE)])
    await found.failed(IMAGE)
    assert (await is_preloaded(found), intents(tmp_path)) == (True, [])


async def test_the_intent_of_a_pull_that_brought_an_unknown_image_stays_until_one_succeeds(tmp_path: Path) -> None:
    found = await loaded(tmp_path)
    await found.start(IMAGE)
    found.lost(IMAGE)
    await found.start(IMAGE)
    await found.failed(IMAGE)
    assert (await is_preloaded(found), intents(tmp_path)) == (False, [file_name(IMAGE)])
    await found.start(IMAGE)
    await found.succeeded(IMAGE, NAME, REF, None)
    assert (list(found.recorded()), intents(tmp_path)) == ([REF], [])


async def no_runtime(image: str) -> str:
    raise Unavailable("ImageStatus", "UNAVAILABLE", "connection refused")


async def test_a_load_that_is_repeated_forgets_nothing_of_the_pulls_meanwhile(tmp_path: Path) -> None:
    leave_intent(tmp_path)
    found = records(tmp_path)
    with pytest.raises(Unavailable):
        await found.load(no_runtime)
    await found.start(OTHER)
    await found.start(IMAGE)
    await found.load(no_image)
    assert (await is_preloaded(found), len(intents(tmp_path))) == (False, 2)
    await found.succeeded(IMAGE, NAME, REF, None)
    await found.failed(OTHER)
    pull_record_files.change(str(tmp_path), {}, [f"image_manager/pulled/{file_name(REF)}"])
    await found.load(no_image)
    assert (list(found.recorded()), intents(tmp_path)) == ([REF], [])


async def test_a_repeated_load_continues_with_the_remaining_intents(tmp_path: Path) -> None:
    leave_intent(tmp_path)
    found = records(tmp_path)
    with pytest.raises(Unavailable):
        await found.load(no_runtime)
    assert not await is_preloaded(found)
    await found.load(no_image)
    assert (await is_preloaded(found), intents(tmp_path)) == (True, [])


async def test_an_image_whose_record_or_intent_is_damaged_is_pulled_again_and_then_has_a_record(tmp_path: Path) -> None:
    for damaged in (f"{PULLED}/{file_name(REF)}", f"{PULLING}/{file_name(IMAGE)}"):
        pull_record_files.change(str(tmp_path), {damaged: b"{"}, [])
        found = await loaded(tmp_path)
        assert not await is_preloaded(found), "its record is not known, so that it must not be for every pod"
        assert await found.verified("other.test/a", "other.test/a:1", "sha256:2", no_credentials)
        await found.start(IMAGE)
        await found.succeeded(IMAGE, NAME, REF, None)
        assert await is_preloaded(found)
        assert await is_preloaded(await loaded(tmp_path))
        pull_record_files.change(str(tmp_path), {}, [f"{PULLED}/{file_name(REF)}"])


async def test_no_image_counts_as_preloaded_before_the_records_are_read(tmp_path: Path) -> None:
    found = records(tmp_path)
    disk = cast(Disk, found._actor)
    disk.fails = True
    with pytest.raises(RecordsUnreadable):
        await found.load(no_image)
    assert not await is_preloaded(found)
    assert numbers(found)["image_mustpull_checks_total error"] == 1
    disk.fails = False
    await found.load(no_image)
    assert await is_preloaded(found)


async def test_a_secret_that_gave_access_by_an_equal_credential_still_does_so_with_another_one(tmp_path: Path) -> None:
    first, second = ImagePullSecret("1", "a", "s"), ImagePullSecret("2", "b", "s")

    async def may_use(secret: ImagePullSecret, password: str) -> bool:
        async def find() -> list[FoundCredential]:
            return [FoundCredential(Credential("me", password), secret)]

        return await (await loaded(tmp_path)).verified(NAME, IMAGE, REF, find)

    found = await loaded(tmp_path)
    await found.start(IMAGE)
    await found.succeeded(IMAGE, NAME, REF, FoundCredential(Credential("me", "old"), first))
    assert not await may_use(second, "new")
    assert await may_use(second, "old")
    assert await may_use(second, "new")
    assert await may_use(first, "new")


async def test_the_intent_of_a_kubelet_is_found_by_the_name_without_a_tag(tmp_path: Path) -> None:
    path = f"{PULLING}/{file_name('busybox')}"
    pull_record_files.change(str(tmp_path), {path: msgspec.json.encode(Intent("busybox"))}, [])
    found = records(tmp_path)
    with pytest.raises(Unavailable):
        await found.load(no_runtime)
    assert not await found.verified("busybox", "busybox:latest", REF, no_credentials)
    await found.start("busybox:latest")
    await found.succeeded("busybox:latest", "busybox", REF, None)
    assert intents(tmp_path) == []
