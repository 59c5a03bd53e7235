"""/healthz of the node server, as a load balancer reads it: by the status code."""

from __future__ import annotations

from pathlib import Path

import msgspec

from actors.device_manager.messages import REGISTRATION
from actors.http_servers.serving.health_checks import UNAVAILABLE_SECONDS
from supervision.protocol import GetMetrics, GetTree, MetricsSnapshot, Tree, Trouble
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


def test_a_health_check_does_not_have_the_memory_of_all_actors_read(tmp_path: Path) -> None:
    """It takes the fork server a millisecond for each actor, in which it supervises nobody."""

    async def story(node: Node) -> None:
        asked = list[bool]()

        def tree(question: GetTree) -> Tree:
            asked.append(question.memory)
            return TREE

        node.answer(GetTree, tree)
        node.answer(GetMetrics, lambda _: MetricsSnapshot("prober", 1, []))
        for path in ("/healthz", "/metrics"):
            await node.fetch(path)
        assert asked == [False, True]

    serve(Node(tmp_path), story)
