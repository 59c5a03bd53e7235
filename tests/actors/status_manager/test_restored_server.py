"""The store of the API server was restored from a backup: its versions are lower than those that were seen."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from actors.api_clients.kube_client.messages import ApiAnswer, ApiCall
from actors.pod_config.messages import SourcePod
from actors.status_manager.api_server.api_sync import UPKEEP_SECONDS
from supervision.testing.harness import Harness
from tests.support.api_joined import deleted, joined, pod, seen
from tests.support.api_neighbour import ApiNeighbour

ENOUGH = 30


async def restored(store: ApiNeighbour, harness: Harness) -> None:
    """A pod that runs was seen at a high version, which the server has forgotten since."""
    bound = store.put(pod())
    await store.sync(harness)
    await harness.deliver(seen(bound))
    await harness.settle()
    store.version = 100_000
    store.put(store.find("p"))
    await store.watch(harness, "p")
    await harness.settle()
    store.version = 200
    store.put(store.find("p"))
    store.calls.clear()
    # a write that is repeated at once and for ever would hang the test
    harness.answer(ApiCall, lambda call: store.answer(call) if len(store.calls) < ENOUGH else ApiAnswer(status=503))


async def test_a_status_is_written_once_after_the_list_with_lower_versions(tmp_path: Path) -> None:
    store = ApiNeighbour()
    async with joined(tmp_path, store) as harness:
        await restored(store, harness)
        await store.sync(harness)
        await harness.deliver(seen(pod(), code=1, at=9.0))
        await harness.advance(3 * UPKEEP_SECONDS)
        assert [call.method for call in store.calls] == ["PATCH"]
        assert store.find("p")["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 1


async def test_changes_after_that_list_are_seen(tmp_path: Path) -> None:
    store = ApiNeighbour()
    async with joined(tmp_path, store) as harness:
        await restored(store, harness)
        await store.sync(harness)
        store.put(deleted(store.find("p")))
        await store.watch(harness, "p")
        await harness.deliver(seen(pod(), code=0, at=9.0, worker_phase="terminated", finished=True))
        await harness.advance(3 * UPKEEP_SECONDS)
        assert store.gone == ["u"]


async def test_before_that_list_comes_a_status_is_not_written_again_and_again(tmp_path: Path) -> None:
    store = ApiNeighbour()
    async with joined(tmp_path, store) as harness:
        await restored(store, harness)
        await harness.deliver(seen(pod(), code=1, at=9.0))
        await harness.advance(3 * UPKEEP_SECONDS)
        assert [call.method for call in store.calls] == ["PATCH", "GET", "PATCH"]
        assert store.find("p")["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 1


@pytest.mark.parametrize("method", ["PATCH", "GET"])
async def test_an_answer_reverts_no_change_that_the_watch_has_reported_since(tmp_path: Path, method: str) -> None:
    store = ApiNeighbour()
    bound = store.put(pod())
    async with joined(tmp_path, store) as harness:
        await store.sync(harness)
        if method == "GET":
            store.put(store.find("p"))  # so that the write is refused, and the pod is read

        async def deleted_meanwhile(call: ApiCall) -> ApiAnswer:
            answer = store.answer(call)
            if call.method == method and "deletionTimestamp" not in store.find("p")["metadata"]:
                changed = store.put(deleted(store.find("p")))
                await harness.deliver(SourcePod("api", "u", json.dumps(changed).encode()))
            return answer

        harness.answer(ApiCall, deleted_meanwhile)
        await harness.deliver(seen(bound, code=0, worker_phase="terminated", finished=True))
        await harness.advance(3 * UPKEEP_SECONDS)
        assert store.gone == ["u"]


async def test_a_list_older_than_an_answer_causes_no_endless_writes(tmp_path: Path) -> None:
    store = ApiNeighbour()
    async with joined(tmp_path, store) as harness:
        bound = store.put(pod())
        await store.sync(harness)
        late = ApiNeighbour()
        late.put(json.loads(json.dumps(bound)))
        await harness.deliver(seen(bound))
        await harness.settle()
        await late.sync(harness)
        await harness.advance(3 * UPKEEP_SECONDS)
        assert [call.method for call in store.calls] == ["PATCH", "PATCH", "GET"]
        assert len(store.history["u"]) == 2
