"""Pods of the API server beside those of files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from actors.api_clients.messages import RecordEvent
from actors.pod_config.actor import PodConfig
from actors.pod_config.messages import GetSources, SourcePod, SourcePods
from actors.pod_workers.messages import DesiredPods, KnownPods, PodOperation, worker_of
from actors.shared.config.agent import Agent
from actors.shared.config.fields.kubelet_configuration import KubeletConfiguration
from actors.shared.kube.codec import decode_pod
from supervision.harness import Harness


def pod(uid: str, name: str = "web", **more: Any) -> bytes:
    meta = {"uid": uid, "name": name, "namespace": "d", **more.pop("meta", {})}
    return json.dumps({"metadata": meta, "spec": {"containers": [{"name": "c", "image": "i"}]}, **more}).encode()


def joined(path: Path) -> Harness:
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


def said(harness: Harness) -> list[tuple[str, str]]:
    return [(operation.op, operation.uid) for operation in harness.sent(PodOperation)]


async def test_a_pod_is_run_changed_ended_and_removed_as_the_server_says(tmp_path: Path) -> None:
    async with joined(tmp_path) as harness:
        await harness.deliver(SourcePods("api", []))
        harness.clear()
        await harness.deliver(SourcePod("api", "a", pod("a")))
        await harness.deliver(SourcePod("api", "a", pod("a", status={"phase": "Running"})))
        assert said(harness) == [("set", "a")]
        ending = {"deletionTimestamp": "2026-01-01T00:00:00Z", "deletionGracePeriodSeconds": 5}
        await harness.deliver(SourcePod("api", "a", pod("a", meta=ending, status={"phase": "Running"})))
        assert said(harness) == [("set", "a")] * 2
        told = decode_pod(harness.sent(PodOperation)[1].pod)
        assert told.metadata.deletionGracePeriodSeconds == 5
        assert told.status.phase == "Running"
        assert told.metadata.annotations["kubernetes.io/config.source"] == "api"
        await harness.deliver(SourcePod("api", "a", b""))
        assert said(harness)[2:] == [("remove", "a")]


async def test_the_time_it_was_first_seen_stays(tmp_path: Path) -> None:
    async with joined(tmp_path) as harness:
        await harness.deliver(SourcePods("api", [pod("a")]))
        await harness.deliver(SourcePod("api", "a", pod("a", meta={"labels": {"x": "y"}})))
        first = harness.sent(DesiredPods, to=worker_of("a", 2))[-1].pods[0].pod
        seen = [
            decode_pod(data).metadata.annotations["kubernetes.io/config.seen"]
            for data in (first, harness.sent(PodOperation)[-1].pod)
        ]
        assert seen[0] == seen[1]


async def test_a_pod_deleted_by_force_is_removed_and_its_namesake_waits_for_its_end(tmp_path: Path) -> None:
    async with joined(tmp_path) as harness:
        await harness.deliver(SourcePods("api", [pod("a")]))
        await harness.deliver(KnownPods(worker_of("a", 2), 2, ["a"]))
        harness.clear()
        await harness.deliver(SourcePod("api", "a", b""))
        await harness.deliver(SourcePod("api", "b", pod("b")))
        assert said(harness) == [("remove", "a")]
        await harness.deliver(KnownPods(worker_of("a", 2), 2, []))
        assert said(harness) == [("remove", "a"), ("set", "b")]


async def test_a_list_after_a_time_away_says_what_came_and_went(tmp_path: Path) -> None:
    async with joined(tmp_path) as harness:
        await harness.deliver(SourcePods("api", [pod("a"), pod("b", "db")]))
        harness.clear()
        await harness.deliver(SourcePods("api", [pod("b", "db"), pod("c", "new")]))
        assert said(harness) == [("remove", "a"), ("set", "c")]


async def test_static_pods_run_before_the_server_is_heard_and_nothing_is_gone_till_then(tmp_path: Path) -> None:
    manifests = tmp_path / "manifests"
    manifests.mkdir()
    (manifests / "s.yaml").write_text(
        "apiVersion: v1\nkind: Pod\nmetadata: {name: s, uid: s}\nspec: {containers: [{name: c, image: i}]}\n"
    )
    async with joined(tmp_path) as harness:
        assert said(harness) == [("set", "s")]
        assert not (await harness.deliver(GetSources())).ready
        await harness.deliver(SourcePod("api", "a", pod("a")))
        assert said(harness) == [("set", "s"), ("set", "a")]
        assert not harness.sent(DesiredPods)
        mirror = pod("m", "s-n1", meta={"annotations": {"kubernetes.io/config.mirror": "s"}})
        await harness.deliver(SourcePods("api", [pod("a"), mirror]))
        assert (await harness.deliver(GetSources())).ready
        wanted = [each.uid for message in harness.sent(DesiredPods) for each in message.pods]
        assert sorted(wanted) == ["a", "s"]


async def test_a_pod_that_cannot_be_read_gets_an_event_and_the_others_run(tmp_path: Path) -> None:
    async with joined(tmp_path) as harness:
        await harness.deliver(SourcePods("api", [pod("x", "bad", spec={"containers": 3}), pod("a")]))
        event = harness.sent(RecordEvent, to="api_clients/event_client")[0]
        assert (event.kind, event.name, event.uid, event.reason) == ("Pod", "bad", "x", "FailedValidation")
        assert [each.uid for message in harness.sent(DesiredPods) for each in message.pods] == ["a"]
        state = (await harness.deliver(GetSources())).sources[-1]
        assert (state.name, state.pods) == ("api", 1)
        assert "bad_d" in state.errors[0]
