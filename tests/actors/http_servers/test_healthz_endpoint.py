"""/healthz of the node server, as a load balancer reads it: by the status code."""

from __future__ import annotations

from pathlib import Path

import msgspec

from actors.device_manager.messages import REGISTRATION
from actors.http_servers.serving.health_checks import UNAVAILABLE_SECONDS
from supervision.protocol import GetTree, Trouble
from tests.support.served_node import TREE, Node, serve


def test_healthz_fails_with_status_500_while_one_of_its_checks_fails(tmp_path: Path) -> None:
    async def story(node: Node) -> None:
        deaf = Trouble(REGISTRATION, "no device plugin can register", UNAVAILABLE_SECONDS, "device_manager")
        node.answer(GetTree, msgspec.structs.replace(TREE, troubles=[deaf]))
        code, text = await node.fetch("/healthz")
        assert code == 500
        assert text.endswith("healthz check failed\n")
        assert (await node.fetch("/healthz/device-plugin"))[0] == 500
        assert await node.fetch("/healthz/ping") == (200, "ok")
        assert await node.fetch("/healthz?exclude=device-plugin") == (200, "ok")

    serve(Node(tmp_path), story)
