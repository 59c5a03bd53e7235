"""IDs of pods with a user namespace: nobody has another's, and a restart changes nothing."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.container_manager.messages import UserNamespaceGiven, UserNamespaceRefused
from actors.container_manager.user_namespaces import (
    FULL,
    PodUserNamespaces,
    UserNamespaceError,
    decode,
    encode,
    free_slot,
)
from actors.shared.config.agent import Agent
from actors.shared.config.fields.groups import UserNamespaces as Settings
from actors.shared.config.fields.kubelet_configuration import KubeletConfiguration
from actors.shared.linux.subordinate_ids import IdRange, SubordinateIdsError
from actors.shared.pod_inventory import PodInventory

SIZE = 65536


def manager(
    root: Path,
    *running: str,
    pods: int = 110,
    ask: Callable[[str], Awaitable[IdRange]] | None = None,
    ids: int | None = None,
) -> PodUserNamespaces:
    agent = Agent(config=KubeletConfiguration(userNamespaces=Settings(ids) if ids else None), root_dir=str(root))
    inventory = PodInventory()
    inventory.update("w", 1, running)
    more: dict[str, Any] = {"ask": ask} if ask is not None else {}
    return PodUserNamespaces(agent, inventory, pods, find=lambda: "getsubids" if ask is not None else "", **more)


async def given_to(namespaces: PodUserNamespaces, uid: str) -> IdRange:
    answer = await namespaces.give(uid)
    assert isinstance(answer, UserNamespaceGiven), answer
    return IdRange(answer.first, answer.length)


async def why_not(namespaces: PodUserNamespaces, uid: str) -> str:
    answer = await namespaces.give(uid)
    assert isinstance(answer, UserNamespaceRefused), answer
    return answer.message


def few(count: int) -> Callable[[str], Awaitable[IdRange]]:
    async def ask(path: str) -> IdRange:
        return IdRange(2 * SIZE, count * SIZE)

    return ask


async def test_each_pod_has_ids_of_its_own_beyond_those_of_the_host(tmp_path: Path) -> None:
    namespaces = manager(tmp_path)
    assert [await given_to(namespaces, uid) for uid in ("a", "b", "a")] == [
        IdRange(SIZE, SIZE),
        IdRange(2 * SIZE, SIZE),
        IdRange(SIZE, SIZE),
    ]
    content = json.loads((tmp_path / "pods/a/userns").read_bytes())
    mapping = [{"hostId": SIZE, "containerId": 0, "length": SIZE}]
    assert content == {"uidMappings": mapping, "gidMappings": mapping}


async def test_a_pod_keeps_its_exclusive_ids_over_a_restart(tmp_path: Path) -> None:
    before = manager(tmp_path)
    first, second = await given_to(before, "a"), await given_to(before, "b")
    shutil.rmtree(tmp_path / "pods/a")
    after = manager(tmp_path)
    assert await given_to(after, "c") == first, "its pod is gone"
    assert await given_to(after, "b") == second
    assert await given_to(after, "d") not in (first, second)


async def test_the_ids_of_a_pod_that_a_worker_has_are_not_given_away_even_without_its_directory(tmp_path: Path) -> None:
    namespaces = manager(tmp_path, "a")
    own = await given_to(namespaces, "a")
    shutil.rmtree(tmp_path / "pods/a")
    assert await given_to(namespaces, "b") != own
    assert await given_to(namespaces, "a") == own
    assert (tmp_path / "pods/a/userns").exists()


async def test_a_damaged_file_stops_allocation_and_is_reported_until_removed(tmp_path: Path) -> None:
    (tmp_path / "pods/a").mkdir(parents=True)
    (tmp_path / "pods/a/userns").write_text("{")
    namespaces = manager(tmp_path)
    assert f"before {tmp_path}/pods/a/userns can be read" in await why_not(namespaces, "b")
    os.unlink(tmp_path / "pods/a/userns")
    assert await given_to(namespaces, "b") == IdRange(SIZE, SIZE)


@pytest.mark.parametrize("place", ["pods", "pods/a"])
@pytest.mark.parametrize("restarts", [False, True])
async def test_the_ids_of_a_pod_that_cannot_be_seen_are_not_given_away(
    tmp_path: Path, place: str, restarts: bool
) -> None:
    namespaces = manager(tmp_path)
    own = await given_to(namespaces, "a")
    path, kept = tmp_path / place, tmp_path / "kept"
    path.rename(kept)
    path.symlink_to(path)
    later = manager(tmp_path) if restarts else namespaces
    assert "Too many levels" in await why_not(later, "b")
    path.unlink()
    kept.rename(path)
    assert await given_to(later, "b") != own
    assert await given_to(later, "a") == own


async def test_a_pod_without_free_ids_waits_for_the_end_of_another(tmp_path: Path) -> None:
    namespaces = manager(tmp_path, pods=2, ask=few(2))
    first = await given_to(namespaces, "a")
    await given_to(namespaces, "b")
    assert await why_not(namespaces, "c") == FULL
    shutil.rmtree(tmp_path / "pods/a")
    assert await given_to(namespaces, "c") == first


async def test_ids_that_cannot_be_recorded_are_not_allocated(tmp_path: Path) -> None:
    (tmp_path / "pods").write_text("")
    namespaces = manager(tmp_path)
    assert "pods" in await why_not(namespaces, "a")
    (tmp_path / "pods").unlink()
    assert await given_to(namespaces, "b") == IdRange(SIZE, SIZE)


async def test_the_users_ids_are_used_and_too_few_are_refused(tmp_path: Path) -> None:
    assert await given_to(manager(tmp_path, ask=few(110)), "a") == IdRange(2 * SIZE, SIZE)
    assert await why_not(manager(tmp_path, ask=few(109)), "a") == (
        "kubelet user assigned IDs are not enough to support 110 pods"
    )

    async def fail(path: str) -> IdRange:
        raise SubordinateIdsError("getsubids: no")

    assert await why_not(manager(tmp_path, ask=fail), "a") == "getsubids: no"


async def test_the_configuration_sets_the_ids_per_pod(tmp_path: Path) -> None:
    assert await given_to(manager(tmp_path, ids=4 * SIZE), "a") == IdRange(4 * SIZE, 4 * SIZE)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b'{"uidMappings":[],"gidMappings":[]}',
        b'{"uidMappings":[{"hostId":65536,"containerId":1,"length":65536}],"gidMappings":[{"hostId":65536,"containerId":1,"length":65536}]}',
        b'{"uidMappings":[{"hostId":65536,"containerId":0,"length":65536}],"gidMappings":[{"hostId":0,"containerId":0,"length":65536}]}',
        b'{"uidMappings":[{"hostId":0,"containerId":0,"length":65536}],"gidMappings":[{"hostId":0,"containerId":0,"length":65536}]}',
    ],
)
def test_an_invalid_file_or_one_that_maps_the_hosts_ids_is_refused(content: bytes) -> None:
    with pytest.raises(UserNamespaceError):
        decode(content)


RANGES = st.builds(IdRange, st.integers(1, 40).map(lambda n: n * 7), st.integers(1, 60))


@given(st.lists(RANGES, max_size=12), st.integers(1, 20), st.integers(1, 30))
def test_a_free_slot_overlaps_no_other_and_is_in_the_range(taken: list[IdRange], size: int, slots: int) -> None:
    whole = IdRange(20, size * slots)
    found = free_slot(whole, size, taken)

    def free(first: int) -> bool:
        return all(first + size <= one.first or first >= one.first + one.length for one in taken)

    starts = [whole.first + slot * size for slot in range(slots)]
    assert found == next((IdRange(first, size) for first in starts if free(first)), None)


@given(st.builds(IdRange, st.integers(1, 1000).map(lambda n: n * SIZE), st.just(SIZE)))
def test_encoded_ids_are_decoded_unchanged(ids: IdRange) -> None:
    assert decode(encode(ids)) == ids
