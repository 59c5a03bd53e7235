"""Pods whose worker was killed before it could report their end: the list of its next incarnation does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from actors.pod_workers.messages import ShardPods, worker_of
from actors.status_manager.api_server.api_sync import UPKEEP_SECONDS
from actors.status_manager.messages import GetLivePods, GetPods
from supervision.testing.harness import Harness
from tests.actors.status_manager.test_mirrors import WORKER, mirror, mirrored, static
from tests.support.api_joined import begun, joined, pod, seen
from tests.support.api_neighbour import ApiNeighbour
from tests.support.status_questions import ask_now

GONE: dict[str, Any] = {"code": 143, "worker_phase": "terminated", "removed": True, "finished": True, "at": 3.0}


async def told_of(harness: Harness) -> tuple[list[str], list[str]]:
    """UIDs of the pods that are shown, and of those that somebody would wait for."""
    shown = json.loads((await ask_now(harness, GetPods())).data)["items"]
    live = await harness.deliver(GetLivePods())
    return [each["metadata"]["uid"] for each in shown], [each.uid for each in live.pods]


async def test_a_static_pod_that_was_edited_meanwhile_has_its_own_mirror(tmp_path: Path) -> None:
    store = ApiNeighbour()
    async with joined(tmp_path, store) as harness:
        await store.sync(harness)
        await harness.deliver(begun(static("h1")))
        await harness.deliver(ShardPods(WORKER, 1, ["h1"]))
        await harness.settle()
        await harness.deliver(ShardPods(WORKER, 1, ["h2"]))
        await harness.deliver(seen(static("h2")))
        await harness.settle()
        assert mirror(store)["metadata"]["annotations"]["kubernetes.io/config.mirror"] == "h2"
        assert mirror(store)["status"]["phase"] == "Running"


async def test_the_mirror_of_a_static_pod_whose_end_was_never_reported_is_deleted(tmp_path: Path) -> None:
    store = ApiNeighbour()
    async with joined(tmp_path, store) as harness:
        old = (await mirrored(store, harness))["metadata"]["uid"]
        await harness.deliver(ShardPods(WORKER, 1, ["h1"]))
        await harness.deliver(seen(static(), **GONE))
        await harness.settle()
        assert store.gone == []
        await harness.deliver(ShardPods(WORKER, 1, []))
        await harness.settle()
        assert store.gone == [old]
        assert store.pods == {}


async def test_no_pod_is_live_whose_end_was_never_reported(tmp_path: Path) -> None:
    async with joined(tmp_path, ApiNeighbour()) as harness:
        await harness.deliver(begun(pod()))
        await harness.deliver(ShardPods(WORKER, 1, ["u"]))
        assert await told_of(harness) == (["u"], ["u"])
        await harness.deliver(ShardPods(WORKER, 1, []))
        assert await told_of(harness) == ([], [])


async def test_a_pod_that_was_reported_before_any_list_is_forgotten_too(tmp_path: Path) -> None:
    async with joined(tmp_path, ApiNeighbour()) as harness:
        await harness.deliver(begun(pod()))
        await harness.deliver(ShardPods(WORKER, 1, []))
        assert await told_of(harness) == ([], [])


async def test_the_pods_of_other_workers_stay(tmp_path: Path) -> None:
    async with joined(tmp_path, ApiNeighbour()) as harness:
        await harness.deliver(seen(pod()))
        others = {f"pod_workers/worker/{index}" for index in range(4)} - {worker_of("u", 4)}
        for other in others:
            await harness.deliver(ShardPods(other, 4, []))
        assert (await told_of(harness))[0] == ["u"]
        await harness.deliver(ShardPods(worker_of("u", 4), 4, []))
        assert (await told_of(harness))[0] == []


async def test_a_pod_known_only_to_the_api_server_is_not_touched(tmp_path: Path) -> None:
    store = ApiNeighbour()
    bound = store.put(pod())
    async with joined(tmp_path, store) as harness:
        await store.sync(harness)
        await harness.deliver(ShardPods(WORKER, 1, []))
        await harness.advance(3 * UPKEEP_SECONDS)
        assert store.calls == []
        await harness.deliver(ShardPods(WORKER, 1, ["u"]))
        await harness.deliver(seen(bound))
        await harness.settle()
        assert store.find("p")["status"]["phase"] == "Running"


async def test_a_forgotten_pod_that_is_reported_again_is_back_with_its_status(tmp_path: Path) -> None:
    store = ApiNeighbour()
    bound = store.put(pod())
    async with joined(tmp_path, store) as harness:
        await store.sync(harness)
        await harness.deliver(seen(bound))
        await harness.settle()
        started = store.find("p")["status"]["startTime"]
        await harness.deliver(ShardPods(WORKER, 1, []))
        await harness.advance(3 * UPKEEP_SECONDS)
        assert store.gone == []
        await harness.deliver(seen(bound, at=0.5))
        await harness.deliver(ShardPods(WORKER, 1, ["u"]))
        await harness.advance(3 * UPKEEP_SECONDS)
        assert await told_of(harness) == (["u"], ["u"])
        assert len(store.calls) == 1, "the server has that status already"
        assert store.find("p")["status"]["startTime"] == started


async def test_a_forgotten_static_pod_that_is_reported_again_has_a_mirror_again(tmp_path: Path) -> None:
    store = ApiNeighbour()
    async with joined(tmp_path, store) as harness:
        old = (await mirrored(store, harness))["metadata"]["uid"]
        await harness.deliver(ShardPods(WORKER, 1, []))
        await harness.settle()
        await harness.deliver(seen(static(), at=0.5))
        await harness.deliver(ShardPods(WORKER, 1, ["h1"]))
        await harness.advance(3 * UPKEEP_SECONDS)
        assert store.gone == [old]
        assert mirror(store)["status"]["phase"] == "Running"
