"""The node's status is written when there is news, on the API's object as it is."""

from __future__ import annotations

import asyncio
import copy
from typing import Any

import msgspec
import pytest

from actors.api_clients.heartbeat_client.node_status.status import ComputedNode
from actors.api_clients.heartbeat_client.node_writer import TRIES, NodeWriter
from actors.shared.api.errors import TooManyRequests
from tests.support.apiserver.strategic import strategic_merge

Json = dict[str, Any]


class Reply(msgspec.Struct):
    body: bytes


class Server:
    """Keeps one node, and of its status only the fields that it knows."""

    def __init__(self, *unknown: str) -> None:
        self.node: Json = {"metadata": {"name": "n1", "uid": "u", "resourceVersion": "1"}, "status": {}}
        self.unknown, self.patches = unknown, list[Json]()
        self.methods: list[str] = []

    async def call(self, method: str, path: str, *, body: bytes = b"", **more: Any) -> Reply:
        self.methods.append(method)
        if method == "PATCH":
            patch = msgspec.json.decode(body)
            self.patches.append(patch)
            self.node = strategic_merge("Node", copy.deepcopy(self.node), patch)
            version = int(self.node["metadata"]["resourceVersion"])
            self.node["metadata"]["resourceVersion"] = str(version + 1)
            for name in self.unknown:
                self.node["status"].pop(name, None)
        return Reply(msgspec.json.encode(self.node))

    async def drop(self) -> None:
        return


async def nothing() -> None:
    """Of the watched Node."""
    return


def wanted(clock: int, **status: Any) -> Any:
    def compute(node: Json) -> ComputedNode:
        ready = {"type": "Ready", "status": "True", "lastHeartbeatTime": f"2026-01-01T00:00:{clock:02}Z"}
        return ComputedNode({**node, "status": {**node["status"], "conditions": [ready], **status}}, [])

    return compute


async def write(server: Server, writer: NodeWriter, clock: int, **status: Any) -> bool:
    """Whether it was written."""
    return await writer.update(wanted(clock, **status), lambda changed: changed) is not None


@pytest.mark.parametrize("unknown", [(), ("features",)])
def test_fields_that_the_server_drops_are_not_written_again_and_again(unknown: tuple[str, ...]) -> None:
    async def story() -> None:
        server = Server(*unknown)
        writer = NodeWriter(server, "n1", nothing)
        features = {"supplementalGroupsPolicy": True}
        assert await write(server, writer, 1, features=features, volumesInUse=["a"])
        assert not await write(server, writer, 2, features=features, volumesInUse=["a"])
        assert await write(server, writer, 3, features=features, volumesInUse=["b"]), "that is news"
        assert not await write(server, writer, 4, features=features, volumesInUse=["b"])
        server.node["status"]["volumesInUse"] = ["c"]
        assert await write(server, writer, 5, features=features, volumesInUse=["b"]), "somebody else wrote"
        assert server.node["status"]["volumesInUse"] == ["b"]
        assert len(server.patches) == 3

    asyncio.run(story())


def test_a_node_that_is_watched_is_not_requested_from_the_server() -> None:
    async def story() -> None:
        server = Server()

        async def watched() -> Json:
            return copy.deepcopy(server.node)

        writer = NodeWriter(server, "n1", watched)
        assert await write(server, writer, 1, volumesInUse=["a"])
        assert not await write(server, writer, 2, volumesInUse=["a"])
        assert server.methods == ["PATCH"]

    asyncio.run(story())


def test_a_watch_that_lags_behind_our_own_write_is_passed_over() -> None:
    async def story() -> None:
        server = Server()
        old = copy.deepcopy(server.node)

        async def lagging() -> Json:
            return copy.deepcopy(old)

        writer = NodeWriter(server, "n1", lagging)
        assert await write(server, writer, 1, volumesInUse=["a"])
        assert not await write(server, writer, 2, volumesInUse=["a"]), "the write is not seen, but it is known"

    asyncio.run(story())


@pytest.mark.parametrize(("asked", "tries"), [(0.0, TRIES), (7.0, 1)])
def test_an_update_is_not_tried_again_while_the_server_asks_for_a_pause(asked: float, tries: int) -> None:
    server, requests = Server(), list[str]()

    async def refuse(method: str, path: str, **more: Any) -> Reply:
        requests.append(method)
        raise TooManyRequests(429, "TooManyRequests", "later", asked)

    server.call = refuse  # type: ignore[method-assign]
    writer = NodeWriter(server, "n1", nothing)
    with pytest.raises(TooManyRequests):
        asyncio.run(writer.update(wanted(1), lambda _: True))
    assert requests == ["GET"] * tries
