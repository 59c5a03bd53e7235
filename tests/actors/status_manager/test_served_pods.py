"""What the status manager tells the server of the pods API."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from actors.http_servers.messages import PODS_SERVER
from actors.pod_workers.messages import ShardPods
from actors.status_manager.messages import ServedPod, ServedPods
from supervision.testing.harness import Harness
from tests.support.api_joined import joined, pod, seen
from tests.support.api_neighbour import ApiNeighbour

WORKER = "pod_workers/worker/0"


def told(harness: Harness) -> list[tuple[str, str]]:
    """UID and phase of each message; '' for a pod that is gone."""
    found: list[tuple[str, str]] = []
    for message in harness.sent(ServedPod, PODS_SERVER):
        body: dict[str, Any] = json.loads(message.pod or b'{"status":{"phase":""}}')
        found.append((message.uid, body["status"]["phase"]))
    harness.clear()
    return found


async def test_each_change_of_a_pod_is_reported_once(tmp_path: Path) -> None:
    async with joined(tmp_path, ApiNeighbour(), PodsAPI=True) as harness:
        await harness.deliver(seen(pod(), run=False))
        assert told(harness) == [("u", "Pending")]
        await harness.deliver(seen(pod(), at=2.0))
        assert told(harness) == [("u", "Running")]
        await harness.deliver(seen(pod(), at=3.0))
        assert told(harness) == []
        await harness.deliver(seen(pod(), gone=True))
        assert told(harness) == [("u", "")]


async def test_a_starting_server_gets_all_pods_and_the_complete_list_once_it_is_known(tmp_path: Path) -> None:
    async with joined(tmp_path, ApiNeighbour(), PodsAPI=True) as harness:
        await harness.deliver(seen(pod()))
        harness.clear()
        await harness.actor.on_hello(PODS_SERVER)
        assert (harness.sent(ServedPods), told(harness)) == ([], [("u", "Running")])
        await harness.deliver(ShardPods(WORKER, 1, ["v", "u"]))
        assert [one.uids for one in harness.sent(ServedPods, PODS_SERVER)] == [["u", "v"]]
        harness.clear()
        await harness.actor.on_hello(PODS_SERVER)
        assert [one.uids for one in harness.sent(ServedPods, PODS_SERVER)] == [["u", "v"]]
        assert told(harness) == [("u", "Running")]


async def test_without_the_gate_nothing_is_reported(tmp_path: Path) -> None:
    async with joined(tmp_path, ApiNeighbour()) as harness:
        await harness.deliver(seen(pod()))
        await harness.deliver(ShardPods(WORKER, 1, ["u"]))
        await harness.deliver(seen(pod(), gone=True))
        assert (harness.sent(ServedPod), harness.sent(ServedPods)) == ([], [])
