"""The network that the cluster gives the node's pods, on its way from the Node to the runtime."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from actors.api_clients.heartbeat_client.first_ready import FAST_SECONDS
from actors.api_clients.kube_client.messages import GetObject, ObjectState
from actors.pleg.messages import PodNetwork
from tests.support.apiserver import ApiServer
from tests.support.heartbeat import Heartbeat

Story = Callable[[ApiServer], Coroutine[Any, Any, None]]


@pytest.fixture
def play(tmp_path: Path) -> Callable[[Story], None]:
    """Runs a story with a server of its own."""

    def run(story: Story) -> None:
        async def whole() -> None:
            async with ApiServer(tmp_path, node_lifecycle=False) as server:
                await asyncio.wait_for(story(server), 100)

        asyncio.run(whole())

    return run


def test_the_pod_cidr_of_the_node_is_forwarded_to_pleg_and_the_runtime(play):
    async def story(server: ApiServer) -> None:
        async with Heartbeat(server) as node:
            await node.ready()
            assert not node.harness.sent(PodNetwork)
            given = ["10.244.3.0/24", "fd00:3::/64"]
            server.patch("nodes", "n1", {"spec": {"podCIDR": given[0], "podCIDRs": given}})
            await node.until(lambda: bool(node.harness.sent(PodNetwork)), "the network")
            assert set(node.harness.sent(PodNetwork)) == {PodNetwork("10.244.3.0/24,fd00:3::/64")}
            assert node.node["spec"]["podCIDRs"] == given

    play(story)


def test_a_runtime_waiting_for_the_pod_cidr_gets_it_at_once(play):
    """The node is Ready only then, so the next regular look at it is too late."""

    async def story(server: ApiServer) -> None:
        async with Heartbeat(server) as node:
            node.harness.answer(GetObject, lambda ask: ObjectState(ask.ref, body=json.dumps(node.node).encode()))
            await node.runtime(network_error="NetworkReady=false")
            await node.until(lambda: node.status("Ready") == "False", "the first status")
            server.patch("nodes", "n1", {"spec": {"podCIDR": "10.244.3.0/24", "podCIDRs": ["10.244.3.0/24"]}})
            await node.harness.advance(3 * FAST_SECONDS)
            assert PodNetwork("10.244.3.0/24") in node.harness.sent(PodNetwork)
            await node.runtime()
            await node.harness.advance(3 * FAST_SECONDS)
            await node.quiet()
            assert node.status("Ready") == "True"

    play(story)
