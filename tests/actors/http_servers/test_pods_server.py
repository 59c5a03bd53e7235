"""The pods server, with a real gRPC client on its socket."""

from __future__ import annotations

import asyncio
import contextlib
import json
import stat
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import pytest

from actors.http_servers.pods_api.watches import MOST_EVENTS
from actors.http_servers.pods_server import BURST, PodsServer
from actors.http_servers.serving.api_socket import RETRY_SECONDS
from actors.shared.config.agent import Agent
from actors.status_manager.messages import ServedPod, ServedPods
from proto import k8s_pod_pb2 as core
from proto import pods_api_pb2 as api
from proto import pods_api_pb2_grpc as stubs
from supervision.testing.harness import Harness

SYNCED = ("INITIAL_SYNC_COMPLETE", "", "")


def served(uid: str, phase: str = "Running", note: str = "") -> ServedPod:
    pod = {
        "metadata": {"name": f"n-{uid}", "namespace": "d", "uid": uid, "annotations": {"note": note}},
        "spec": {"containers": [{"name": "c", "resources": {"limits": {"cpu": "1"}}}]},
        "status": {"phase": phase},
    }
    return ServedPod(uid, json.dumps(pod).encode())


def shown(event: Any) -> tuple[str, str, str]:
    """Kind of the event, name and phase of its pod."""
    pod = core.Pod.FromString(event.pod)
    return api.EventType.Name(event.type), pod.metadata.name, pod.status.phase


class Node:
    def __init__(self, directory: Path) -> None:
        self.path = directory / "pods-api" / "pods-api.sock"
        run_dir = directory / "run"
        run_dir.mkdir(mode=0o700)
        agent = Agent(root_dir=str(directory), run_dir=str(run_dir))
        self.harness = Harness(PodsServer, name="http_servers/pods_server", context=agent)

    @contextlib.asynccontextmanager
    async def serve(self, *uids: str, complete: bool = True) -> AsyncIterator[stubs.PodsAsyncStub]:
        async with asyncio.timeout(20), self.harness, grpc.aio.insecure_channel(f"unix://{self.path}") as channel:
            for uid in uids:
                await self.harness.deliver(served(uid))
            if complete:
                await self.harness.deliver(ServedPods(list(uids)))
            yield stubs.PodsStub(channel)
            await channel.close(None)
            await self.harness.stop()

    def counted(self, name: str) -> dict[str, float]:
        """By status code."""
        samples = self.harness.actor.metrics.snapshot("a", 1).samples
        found = [one for one in samples if one.name == f"kubelet_pod_{name}"]
        return {dict(one.labels).get("status_code", ""): one.value for one in found}


async def refused(call: Any) -> tuple[grpc.StatusCode, str]:
    with pytest.raises(grpc.aio.AioRpcError) as error:
        await call
    return error.value.code(), str(error.value.details())


async def read_all(watch: Any) -> None:
    for _ in range(2 * MOST_EVENTS):
        await watch.read()


async def test_pods_are_listed_by_uid_and_one_is_found_by_its_uid(tmp_path: Path) -> None:
    node = Node(tmp_path)
    async with node.serve("b", "a") as client:
        pods = [core.Pod.FromString(one) for one in (await client.ListPods(api.ListPodsRequest())).pods]
        assert [(pod.metadata.uid, pod.status.phase) for pod in pods] == [("a", "Running"), ("b", "Running")]
        assert pods[0].spec.containers[0].resources.limits["cpu"].string == "1"
        assert (await client.GetPod(api.GetPodRequest(podUID="b"))).pod == pods[1].SerializeToString()
        assert await refused(client.GetPod(api.GetPodRequest(podUID="c"))) == (
            grpc.StatusCode.NOT_FOUND, "pod with UID c not found",
        )  # fmt: skip
        assert node.counted("requests_list_total") == {"OK": 1}
        assert node.counted("requests_get_total") == {"OK": 1, "NotFound": 1}
        assert node.counted("requests_total") == {"OK": 2, "NotFound": 1}


async def test_nothing_is_reported_before_every_worker_has_listed_its_pods(tmp_path: Path) -> None:
    node = Node(tmp_path)
    async with node.serve("a", complete=False) as client:
        expected = (grpc.StatusCode.FAILED_PRECONDITION, "Kubelet is initializing")
        assert await refused(client.ListPods(api.ListPodsRequest())) == expected
        assert await refused(client.GetPod(api.GetPodRequest(podUID="a"))) == expected
        assert await refused(client.WatchPods(api.WatchPodsRequest()).read()) == expected
        await node.harness.deliver(ServedPods(["a"]))
        assert len((await client.ListPods(api.ListPodsRequest())).pods) == 1


async def test_a_watch_gets_every_pod_then_the_mark_and_then_each_change(tmp_path: Path) -> None:
    node = Node(tmp_path)
    async with node.serve("a") as client:
        watch = client.WatchPods(api.WatchPodsRequest())
        assert [shown(await watch.read()) for _ in range(2)] == [("ADDED", "n-a", "Running"), SYNCED]
        for message in (served("b", "Pending"), served("b", "Running"), ServedPod("a", b"")):
            await node.harness.deliver(message)
        assert [shown(await watch.read()) for _ in range(3)] == [
            ("ADDED", "n-b", "Pending"), ("MODIFIED", "n-b", "Running"), ("DELETED", "n-a", ""),
        ]  # fmt: skip
        # a status manager that restarts sends the same again
        await node.harness.deliver(served("b"))
        await node.harness.deliver(ServedPods([]))
        assert shown(await watch.read()) == ("DELETED", "n-b", "")
        watch.cancel()
        await node.harness.wait(lambda: node.counted("requests_watch_total") == {"Canceled": 1}, "its end")


async def test_an_unread_watch_is_ended_and_another_continues(tmp_path: Path) -> None:
    node = Node(tmp_path)
    async with node.serve("a") as client:
        slow, fast = client.WatchPods(api.WatchPodsRequest()), client.WatchPods(api.WatchPodsRequest())
        for watch in (slow, fast):
            assert [shown(await watch.read())[0] for _ in range(2)] == ["ADDED", "INITIAL_SYNC_COMPLETE"]
        rounds = 0
        while not node.counted("watch_events_dropped_total"):
            rounds += 1
            await node.harness.deliver(served("a", note=f"{rounds} {'x' * 100_000}"))
            assert shown(await fast.read())[0] == "MODIFIED"
        assert rounds > MOST_EVENTS
        assert await refused(read_all(slow)) == (
            grpc.StatusCode.RESOURCE_EXHAUSTED, "watch client channel closed",
        )  # fmt: skip
        await node.harness.deliver(served("a", "Succeeded"))
        assert shown(await fast.read()) == ("MODIFIED", "n-a", "Succeeded")


async def test_lists_are_limited_and_watches_are_not(tmp_path: Path) -> None:
    node = Node(tmp_path)
    async with node.serve("a") as client:
        calls = [client.ListPods(api.ListPodsRequest()) for _ in range(30 * BURST)]
        answers = await asyncio.gather(*calls, return_exceptions=True)
        errors = [one for one in answers if isinstance(one, grpc.aio.AioRpcError)]
        assert {(one.code(), one.details()) for one in errors} == {
            (grpc.StatusCode.RESOURCE_EXHAUSTED, "rejected by rate limit")
        }
        assert shown(await client.WatchPods(api.WatchPodsRequest()).read())[0] == "ADDED"


async def test_a_value_of_another_type_drops_that_field_alone_and_is_reported_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    node = Node(tmp_path)
    async with node.serve("a") as client:
        await node.harness.deliver(ServedPod("b", b'{"metadata":{"name":"n-b","uid":"b","labels":3}}'))
        for _ in range(2):
            pod = core.Pod.FromString((await client.GetPod(api.GetPodRequest(podUID="b"))).pod)
            assert pod.metadata.name == "n-b"
    assert [one.getMessage() for one in caplog.records if "leaves out" in one.getMessage()] == [
        "the pods API leaves out a field whose value is of another type: metadata.labels"
    ]


async def test_the_socket_is_for_root_alone_and_what_lies_in_its_place_stays(tmp_path: Path) -> None:
    node = Node(tmp_path)
    node.path.parent.mkdir()
    node.path.write_text("kept")
    async with node.serve("a") as client:
        assert node.path.read_text() == "kept"
        node.path.unlink()
        await node.harness.advance(RETRY_SECONDS)
        assert (await client.ListPods(api.ListPodsRequest(), wait_for_ready=True)).pods
        assert stat.S_IMODE(node.path.stat().st_mode) == 0o660


def test_grpc_is_not_loaded_before_the_first_client() -> None:
    code = "import sys; import actors.http_servers.pods_server; print([m for m in sys.modules if 'grpc' in m])"
    root = Path(__file__).parents[3]
    found = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, timeout=30)
    assert found.stdout.strip() == "[]", found.stderr
