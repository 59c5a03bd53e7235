"""A client loads its kubeconfig again as long as that may help."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from actors.api_clients.api_actor import ApiActor
from actors.shared.api import disposable_loader
from actors.shared.api.disposable_loader import LoaderError
from actors.shared.config.agent import Agent
from supervision.testing.harness import Harness
from tests.support.apiserver import kubeconfigs
from tests.support.apiserver.server import ApiServer
from tests.support.present import present


class Follower(ApiActor):
    """One that does nothing by itself."""


class Node:
    def __init__(self, server: ApiServer, path: Path) -> None:
        self.server, self.path = server, path
        self.agent = Agent(standalone=False, kubeconfig=str(path), node_name="n1")
        self.write("system:node:old")

    def write(self, user: str) -> None:
        pair = self.server.authority.client(user, "system:nodes")
        new = self.path.with_name("new.conf")
        kubeconfigs.write(new, self.server.url, self.server.authority.pem, kubeconfigs.embedded_user(pair))
        new.replace(self.path)

    async def user(self, actor: ApiActor) -> str:
        await actor.request("GET", "/version")
        return self.server.requests[-1].user


def during_the_load(monkeypatch: pytest.MonkeyPatch, act: Callable[[], None]) -> None:
    """`act` runs while the loader reads the file for the first time."""
    load, pending = disposable_loader.answer_later, [act]

    async def answer_later(request: dict[str, Any], seconds: float) -> Any:
        found = await load(request, seconds)
        if pending:
            pending.pop()()
        return found

    monkeypatch.setattr(disposable_loader, "answer_later", answer_later)


def fail() -> None:
    raise LoaderError("Timeout", "no answer")


def test_credentials_are_loaded_again_after_the_loader_had_no_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story() -> None:
        async with ApiServer(tmp_path / "server") as server:
            node = Node(server, tmp_path / "kubelet.conf")
            during_the_load(monkeypatch, fail)
            async with Harness(Follower, name="api_clients/kube_client", context=node.agent) as harness:
                assert harness.actor.client is None
                await harness.advance(10)
                await harness.wait(lambda: harness.actor.client is not None, "credentials", timeout=30)
                assert await node.user(harness.actor) == "system:node:old"

    asyncio.run(story())


def test_a_kubeconfig_that_is_replaced_during_its_load_is_loaded_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story() -> None:
        async with ApiServer(tmp_path / "server") as server:
            node = Node(server, tmp_path / "kubelet.conf")
            during_the_load(monkeypatch, lambda: node.write("system:node:new"))
            async with Harness(Follower, name="api_clients/kube_client", context=node.agent) as harness:
                assert await node.user(harness.actor) == "system:node:old"
                old = present(harness.actor.client).access
                await harness.advance(10)
                await harness.wait(lambda: present(harness.actor.client).access != old, "other credentials", timeout=30)
                assert await node.user(harness.actor) == "system:node:new"

    asyncio.run(story())
