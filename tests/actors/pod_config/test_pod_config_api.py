"""The pod configuration with pods of the API server and of files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from actors.api_clients.event_client.messages import RecordEvent
from actors.pod_config.actor import PodConfig
from actors.pod_config.messages import GetSources, SourcePod, SourcePods
from actors.pod_workers.messages import DesiredPods, PodOperation, ShardPods, worker_of
from actors.shared.config.agent import Agent
from actors.shared.config.fields.kubelet_configuration import KubeletConfiguration
from actors.shared.kube.codec import decode_pod
from actors.shared.lists_in_parts import PART_BYTES, PAUSE_SECONDS
from supervision.process_messages import Hello
from supervision.testing.harness import Harness


def pod(uid: str, name: str = "web", **more: Any) -> bytes:
    meta = {"uid": uid, "name": name, "namespace": "d", **more.pop("meta", {})}
    return json.dumps({"metadata": meta, "spec": {"containers": [{"name": "c", "image": "i"}]}, **more}).encode()


def joined_node(path: Path) -> Harness:
    config = KubeletConfiguration(staticPodPath=str(path / "manifests"))
    agent = Agent(
        root_dir=str(path / "root"),
        run_dir=str(path / "run"),
        config=config,
        node_name="n1",
        standalone=False,
        workers=2,
    )
    return Harness(PodConfig, name="pod_config", context=agent)


def operations_sent(harness: Harness) -> list[tuple[str, str]]:
    return [(operation.op, operation.uid) for operation in harness.sent(PodOperation)]


async def test_the_workers_get_each_change_of_a_pod_and_its_removal(tmp_path: Path) -> None:
    async with joined_node(tmp_path) as harness:
        await harness.deliver(SourcePods("api", []))
        harness.clear()
        await harness.deliver(SourcePod("api", "a", pod("a")))
        await harness.deliver(SourcePod("api", "a", pod("a", status={"phase": "Running"})))
        assert operations_sent(harness) == [("set", "a")]
        ending = {"deletionTimestamp": "2026-01-01T00:00:00Z", "deletionGracePeriodSeconds": 5}
        await harness.deliver(SourcePod("api", "a", pod("a", meta=ending, status={"phase": "Running"})))
        assert operations_sent(harness) == [("set", "a")] * 2
        told = decode_pod(harness.sent(PodOperation)[1].pod)
        assert told.metadata.deletionGracePeriodSeconds == 5
        assert told.status.phase == "Running"
        assert told.metadata.annotations["kubernetes.io/config.source"] == "api"
        await harness.deliver(SourcePod("api", "a", b""))
        assert operations_sent(harness)[2:] == [("remove", "a")]


async def test_the_first_seen_time_of_a_pod_stays(tmp_path: Path) -> None:
    async with joined_node(tmp_path) as harness:
        await harness.deliver(SourcePods("api", [pod("a")]))
        await harness.deliver(SourcePod("api", "a", pod("a", meta={"labels": {"x": "y"}})))
        first = harness.sent(DesiredPods, to=worker_of("a", 2))[-1].pods[0].pod
        seen = [
            decode_pod(data).metadata.annotations["kubernetes.io/config.seen"]
            for data in (first, harness.sent(PodOperation)[-1].pod)
        ]
        assert seen[0] == seen[1]


async def test_a_new_pod_waits_for_the_end_of_a_force_deleted_pod_with_its_name(tmp_path: Path) -> None:
    async with joined_node(tmp_path) as harness:
        await harness.deliver(SourcePods("api", [pod("a")]))
        await harness.deliver(ShardPods(worker_of("a", 2), 2, ["a"]))
        harness.clear()
        await harness.deliver(SourcePod("api", "a", b""))
        await harness.deliver(SourcePod("api", "b", pod("b")))
        assert operations_sent(harness) == [("remove", "a")]
        await harness.deliver(ShardPods(worker_of("a", 2), 2, []))
        assert operations_sent(harness) == [("remove", "a"), ("set", "b")]


async def test_a_list_adds_and_removes_pods_that_changed_while_the_server_was_away(tmp_path: Path) -> None:
    async with joined_node(tmp_path) as harness:
        await harness.deliver(SourcePods("api", [pod("a"), pod("b", "db")]))
        harness.clear()
        await harness.deliver(SourcePods("api", [pod("b", "db"), pod("c", "new")]))
        assert operations_sent(harness) == [("remove", "a"), ("set", "c")]


async def test_static_pods_run_before_the_first_list_and_no_pod_of_the_server_is_removed_until_then(
    tmp_path: Path,
) -> None:
    manifests = tmp_path / "manifests"
    manifests.mkdir()
    (manifests / "s.yaml").write_text(
        "apiVersion: v1\nkind: Pod\nmetadata: {name: s, uid: s}\nspec: {containers: [{name: c, image: i}]}\n"
    )
    async with joined_node(tmp_path) as harness:
        (told,) = harness.sent(DesiredPods, to=worker_of("s", 2))
        assert ([each.uid for each in told.pods], told.sources_ready, told.static_ready) == (["s"], False, True)
        assert not (await harness.deliver(GetSources())).ready
        await harness.deliver(SourcePod("api", "a", pod("a")))
        await harness.deliver(SourcePod("api", "a", b""))
        await harness.deliver(SourcePod("api", "a", pod("a")))
        assert operations_sent(harness) == [("set", "a"), ("set", "a")]
        harness.clear()
        mirror = pod("m", "s-n1", meta={"annotations": {"kubernetes.io/config.mirror": "s"}})
        await harness.deliver(SourcePods("api", [pod("a"), mirror]))
        assert (await harness.deliver(GetSources())).ready
        wanted = [each.uid for message in harness.sent(DesiredPods) for each in message.pods]
        assert sorted(wanted) == ["a", "s"]


async def test_an_invalid_pod_gets_an_event_and_the_others_run(tmp_path: Path) -> None:
    async with joined_node(tmp_path) as harness:
        await harness.deliver(SourcePods("api", [pod("x", "bad", spec={"containers": 3}), pod("a")]))
        event = harness.sent(RecordEvent, to="api_clients/event_client")[0]
        assert (event.kind, event.name, event.uid, event.reason) == ("Pod", "bad", "x", "FailedValidation")
        assert [each.uid for message in harness.sent(DesiredPods) for each in message.pods] == ["a"]
        state = (await harness.deliver(GetSources())).sources[-1]
        assert (state.name, state.pods) == ("api", 1)
        assert "bad_d" in state.errors[0]


async def test_a_list_in_parts_is_complete_with_its_last_part(tmp_path: Path) -> None:
    async with joined_node(tmp_path) as harness:
        await harness.deliver(SourcePods("api", [pod("a")], more=True))
        assert not (await harness.deliver(GetSources())).ready
        assert operations_sent(harness) == [("set", "a")]
        await harness.deliver(SourcePods("api", [pod("b", "db")], ["a"]))
        assert (await harness.deliver(GetSources())).ready
        wanted = [each.uid for message in harness.sent(DesiredPods) for each in message.pods]
        assert sorted(wanted) == ["a", "b"]


async def test_pods_that_are_large_together_are_sent_to_a_worker_in_parts(tmp_path: Path) -> None:
    async with joined_node(tmp_path) as harness:
        large = [pod(uid, uid, meta={"labels": {"l": "x" * PART_BYTES}}) for uid in "abcd"]
        await harness.deliver(SourcePods("api", large))
        await harness.advance(PAUSE_SECONDS * len(large))
        harness.clear()
        worker = worker_of("a", 2)
        own = [uid for uid in "abcd" if worker_of(uid, 2) == worker]
        await harness.deliver(Hello(worker, 2))
        late = next(uid for uid in map(str, range(99)) if worker_of(uid, 2) == worker)
        await harness.deliver(SourcePod("api", late, pod(late, late)))
        await harness.advance(PAUSE_SECONDS * len(own))
        told = harness.sent(DesiredPods, to=worker)
        assert [[each.uid for each in message.pods] for message in told] == [[uid] for uid in own]
        assert [message.more for message in told] == [True] * (len(own) - 1) + [False]
        assert told[-1].others == sorted([late, *own[:-1]]), "a pod that came meanwhile is no orphan"
        assert all(message.sources_ready for message in told)
