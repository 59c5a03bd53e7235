"""Mirror pods: created, created again, removed; they have the status of their static pod."""

from __future__ import annotations

import json
from typing import Any

from actors.pod_config.messages import SourcePod
from actors.pod_workers.messages import ShardPods
from actors.status_manager.api_server.api_sync import UPKEEP_SECONDS
from actors.status_manager.messages import GetPods, GetPodStatus
from supervision.testing.harness import Harness
from tests.support.api_joined import begun, joined, seen
from tests.support.api_neighbour import ApiNeighbour
from tests.support.status_questions import ask_now

WORKER = "pod_workers/worker/0"


def static(hash_: str = "h1", **spec: Any) -> dict[str, Any]:
    annotations = {
        "kubernetes.io/config.hash": hash_,
        "kubernetes.io/config.source": "file",
        "kubernetes.io/config.seen": "2023-11-14T22:13:00.5Z",
        "mine": "x",
    }
    meta = {"name": "web-node-1", "namespace": "n", "uid": hash_, "annotations": annotations, "labels": {"app": "web"}}
    return {"metadata": meta, "spec": {"containers": [{"name": "a", "image": "i"}], "nodeName": "node-1", **spec}}


def mirror(store: ApiNeighbour) -> dict[str, Any]:
    return store.find("web-node-1")


async def mirrored(store: ApiNeighbour, harness: Harness) -> dict[str, Any]:
    await store.sync(harness)
    await harness.deliver(seen(static()))
    await harness.settle()
    return mirror(store)


async def test_a_node_that_cannot_be_read_delays_the_mirror_only(tmp_path):
    store = ApiNeighbour()
    async with joined(tmp_path, store) as harness:
        store.node = {"metadata": {"name": "node-1", "uid": "node-uid", "deletionTimestamp": 7}}
        await store.sync(harness)
        await harness.deliver(seen(static()))
        await harness.advance(5.0)
        assert not store.has("web-node-1")
        store.node = {"metadata": {"name": "node-1", "uid": "node-uid"}}
        await harness.advance(60.0)
        assert store.has("web-node-1")


async def test_a_static_pod_has_a_mirror_with_its_status(tmp_path):
    store = ApiNeighbour()
    async with joined(tmp_path, store) as harness:
        found = await mirrored(store, harness)
        made = store.sent("POST")[0]
        assert found["metadata"]["annotations"] == {
            **static()["metadata"]["annotations"],
            "kubernetes.io/config.mirror": "h1",
        }
        assert found["metadata"]["labels"] == {"app": "web"}
        assert found["metadata"]["ownerReferences"] == [
            {"apiVersion": "v1", "kind": "Node", "name": "node-1", "uid": "node-uid", "controller": True}
        ]
        assert set(made) == {"apiVersion", "kind", "metadata", "spec"}
        assert set(made["metadata"]) == {"name", "namespace", "labels", "annotations", "ownerReferences"}
        assert made["spec"] == static()["spec"]
        assert found["status"]["phase"] == "Running"
        assert store.sent("PATCH")[0]["metadata"]["uid"] == found["metadata"]["uid"] != "h1"


async def test_the_start_of_a_static_pod_is_measured_by_its_mirror(tmp_path):
    store = ApiNeighbour()
    async with joined(tmp_path, store) as harness:
        running = await mirrored(store, harness)
        created = {**running, "status": {"phase": "Pending"}}
        await harness.deliver(SourcePod("api", running["metadata"]["uid"], json.dumps(created).encode()))
        measured = {one.name for one in harness.actor.metrics.snapshot("x", 1).samples}
        assert "kubelet_pod_start_total_duration_seconds" not in measured
        await store.watch(harness, "web-node-1")
        measured = {one.name for one in harness.actor.metrics.snapshot("x", 1).samples}
        assert {"kubelet_pod_start_total_duration_seconds", "kubelet_pod_start_sli_duration_seconds"} <= measured


async def test_a_mirror_is_created_soon_after_the_missing_node_exists(tmp_path):
    store = ApiNeighbour()
    node, store.node = store.node, None
    async with joined(tmp_path, store) as harness:
        await store.sync(harness)
        await harness.deliver(seen(static()))
        await harness.advance(60.0)
        assert store.calls == []
        store.node = {"metadata": {"uid": "x", "deletionTimestamp": "2023-11-14T22:13:00Z"}}
        await harness.advance(5.0)
        assert store.calls == []
        store.node = node
        await harness.advance(1.0)
        assert mirror(store)["status"]["phase"] == "Running"


async def test_a_deleted_mirror_is_created_again_and_the_pod_keeps_running(tmp_path):
    store = ApiNeighbour()
    async with joined(tmp_path, store) as harness:
        uid = (await mirrored(store, harness))["metadata"]["uid"]
        store.remove("web-node-1")
        await harness.deliver(SourcePod("api", uid))
        await harness.settle()
        assert mirror(store)["metadata"]["uid"] != uid
        assert mirror(store)["status"]["phase"] == "Running"


async def test_a_mirror_that_is_being_deleted_is_deleted_and_created_again(tmp_path):
    store = ApiNeighbour()
    async with joined(tmp_path, store) as harness:
        found = await mirrored(store, harness)
        uid = found["metadata"]["uid"]
        found["metadata"].update(deletionTimestamp="2023-11-14T22:20:00Z", deletionGracePeriodSeconds=30)
        store.put(found)
        await store.watch(harness, "web-node-1")
        await harness.settle()
        assert store.gone == [uid]
        assert store.sent("DELETE")[0]["preconditions"] == {"uid": uid}
        assert mirror(store)["status"]["phase"] == "Running"


async def test_an_edited_static_pod_has_another_mirror_once_the_old_one_has_ended(tmp_path):
    store = ApiNeighbour()
    async with joined(tmp_path, store) as harness:
        old = (await mirrored(store, harness))["metadata"]["uid"]
        await harness.deliver(begun(static("h2")))
        await harness.deliver(seen(static(), worker_phase="terminating", removed=True, at=2.0))
        await harness.advance(2 * UPKEEP_SECONDS)
        assert mirror(store)["metadata"]["uid"] == old
        gone: dict[str, Any] = {"code": 143, "worker_phase": "terminated", "removed": True, "finished": True, "at": 3.0}
        await harness.deliver(seen(static(), **gone))
        await harness.settle()
        assert mirror(store)["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 143
        await harness.deliver(seen(static(), gone=True, **gone))
        await harness.settle()
        assert store.gone == [old]
        assert mirror(store)["metadata"]["annotations"]["kubernetes.io/config.mirror"] == "h2"


async def test_the_mirror_of_a_removed_static_pod_goes_when_the_pod_has(tmp_path):
    store = ApiNeighbour()
    async with joined(tmp_path, store) as harness:
        await mirrored(store, harness)
        await harness.deliver(seen(static(), worker_phase="terminating", removed=True, at=2.0))
        await harness.advance(2 * UPKEEP_SECONDS)
        assert store.gone == []
        await harness.deliver(
            seen(static(), code=0, worker_phase="terminated", removed=True, finished=True, gone=True, at=3.0)
        )
        await harness.settle()
        assert store.pods == {}


async def test_a_mirror_without_a_pod_is_deleted_once_every_worker_has_reported(tmp_path):
    store = ApiNeighbour()
    left = static()
    left["metadata"]["annotations"]["kubernetes.io/config.mirror"] = "h1"
    left["metadata"]["uid"] = "left"
    store.put(left)
    async with joined(tmp_path, store) as harness:
        await store.sync(harness)
        await harness.advance(10 * UPKEEP_SECONDS)
        assert store.gone == []
        await harness.deliver(ShardPods(WORKER, 1, []), WORKER)
        await harness.advance(3 * UPKEEP_SECONDS)
        assert store.gone == ["left"]


async def test_a_mirror_of_before_a_restart_is_kept(tmp_path):
    store = ApiNeighbour()
    async with joined(tmp_path, store) as harness:
        await mirrored(store, harness)
    before = json.dumps(mirror(store))
    store.calls.clear()
    async with joined(tmp_path, store, 2) as harness:
        await harness.deliver(begun(static()))
        await store.sync(harness)
        await harness.deliver(ShardPods(WORKER, 1, ["h1"]), WORKER)
        await harness.deliver(seen(static(), at=7.0))
        await harness.advance(3 * UPKEEP_SECONDS)
    assert store.calls == []
    assert json.dumps(mirror(store)) == before


async def test_a_static_pod_that_ended_and_runs_again_has_a_new_mirror(tmp_path):
    store = ApiNeighbour()
    async with joined(tmp_path, store) as harness:
        await mirrored(store, harness)
        over = mirror(store)
        over["status"]["phase"] = "Failed"
        store.put(over)
    async with joined(tmp_path, store, 2) as harness:
        await store.sync(harness)
        await harness.deliver(begun(static()))
        await harness.deliver(seen(static(), at=7.0))
        await harness.settle()
    assert mirror(store)["status"]["phase"] == "Running"


async def test_an_existing_mirror_is_used(tmp_path):
    store = ApiNeighbour()
    async with joined(tmp_path, store) as harness:
        await store.sync(harness)
        other = static()
        other["metadata"]["annotations"]["kubernetes.io/config.mirror"] = "h1"
        other["metadata"]["uid"] = "there"
        store.put(other)
        await harness.deliver(seen(static()))
        await harness.settle()
        assert mirror(store)["metadata"]["uid"] == "there"
        assert mirror(store)["status"]["phase"] == "Running"


async def test_another_pod_that_has_the_name_is_left_alone(tmp_path):
    store = ApiNeighbour()
    other = static()
    other["metadata"].update(uid="there", annotations={})
    async with joined(tmp_path, store) as harness:
        await store.sync(harness)
        store.put(other)
        await harness.deliver(seen(static()))
        await harness.advance(300.0)
        assert store.gone == []
        assert 0 < len(store.sent("POST")) < 20


async def test_refused_mirrors_are_retried_with_growing_pauses(tmp_path):
    store = ApiNeighbour()
    store.fault("status", code=403)
    async with joined(tmp_path, store) as harness:
        await store.sync(harness)
        await harness.deliver(seen(static()))
        await harness.advance(600.0)
        assert 5 < len(store.calls) < 25


async def test_kubectl_finds_the_static_pod_by_the_name_and_uid_of_its_mirror(tmp_path):
    store = ApiNeighbour()
    async with joined(tmp_path, store) as harness:
        uid = (await mirrored(store, harness))["metadata"]["uid"]
        assert (await ask_now(harness, GetPodStatus("", "n", "web-node-1"))).uid == "h1"
        assert (await ask_now(harness, GetPodStatus(uid))).uid == "h1"
        shown = json.loads((await ask_now(harness, GetPods())).data)["items"]
        assert [each["metadata"]["uid"] for each in shown] == ["h1"]
