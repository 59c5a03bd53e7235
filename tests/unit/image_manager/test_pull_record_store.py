"""Intents of pulls: they stay as long as an image may come, or have come, that has no record."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest

from actors.image_manager import pull_record_files
from actors.image_manager.pull_record_files import PULLING
from actors.image_manager.pull_record_store import PullRecords
from actors.image_manager.pull_records import FoundCredential, Intent, file_name
from actors.shared.config.fields.kubelet_configuration import KubeletConfiguration
from actors.shared.cri.errors import Unavailable
from supervision.metrics import Metrics

IMAGE, OTHER, NAME, REF = "registry.test/app:1", "registry.test/other:1", "registry.test/app", "sha256:1"


class Disk:
    """The actor: what it is asked to do in another process it does at once."""

    log = logging.getLogger("test")

    def __init__(self) -> None:
        self.metrics = Metrics()

    async def disposable(self, function: str, arguments: dict[str, Any], deadline: float) -> Any:
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
    await found.begin(IMAGE)
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
    await found.forget([REF])
    assert numbers(found)["ondisk_pulledrecords"] == 0


async def test_the_failure_of_one_pull_leaves_the_intent_to_the_other_pulls_of_the_image(tmp_path: Path) -> None:
    found = await loaded(tmp_path)
    await found.begin(IMAGE)
    await found.begin(IMAGE)
    await found.failed(IMAGE)
    assert (await is_preloaded(found), intents(tmp_path)) == (False, [file_name(IMAGE)])
    await found.failed(IMAGE)
    assert (await is_preloaded(found), intents(tmp_path)) == (True, [])


async def test_the_intent_of_a_pull_that_brought_an_unknown_image_stays_until_one_succeeds(tmp_path: Path) -> None:
    found = await loaded(tmp_path)
    await found.begin(IMAGE)
    found.lost(IMAGE)
    await found.begin(IMAGE)
    await found.failed(IMAGE)
    assert (await is_preloaded(found), intents(tmp_path)) == (False, [file_name(IMAGE)])
    await found.begin(IMAGE)
    await found.succeeded(IMAGE, NAME, REF, None)
    assert (found.refs(), intents(tmp_path)) == (frozenset({REF}), [])


async def no_runtime(image: str) -> str:
    raise Unavailable("ImageStatus", "UNAVAILABLE", "connection refused")


async def test_a_load_that_is_repeated_forgets_nothing_of_the_pulls_meanwhile(tmp_path: Path) -> None:
    leave_intent(tmp_path)
    found = records(tmp_path)
    with pytest.raises(Unavailable):
        await found.load(no_runtime)
    await found.begin(OTHER)
    await found.begin(IMAGE)
    await found.load(no_image)
    assert (await is_preloaded(found), len(intents(tmp_path))) == (False, 2)
    await found.succeeded(IMAGE, NAME, REF, None)
    await found.failed(OTHER)
    pull_record_files.change(str(tmp_path), {}, [f"image_manager/pulled/{file_name(REF)}"])
    await found.load(no_image)
    assert (found.refs(), intents(tmp_path)) == (frozenset({REF}), [])


async def test_a_load_that_is_repeated_goes_on_with_the_intents_that_are_left(tmp_path: Path) -> None:
    leave_intent(tmp_path)
    found = records(tmp_path)
    with pytest.raises(Unavailable):
        await found.load(no_runtime)
    assert not await is_preloaded(found)
    await found.load(no_image)
    assert (await is_preloaded(found), intents(tmp_path)) == (True, [])
