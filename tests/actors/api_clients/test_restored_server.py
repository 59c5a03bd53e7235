"""The client after an API server has come back with an older state."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from actors.api_clients.kube_client import refused_collections
from actors.api_clients.kube_client.actor import LOST, KubeClient
from actors.api_clients.kube_client.messages import GetObject, ObjectRef
from actors.pod_config.messages import SourcePods
from actors.shared.config.agent import Agent
from supervision.process_messages import ServiceState
from supervision.testing.harness import Harness
from tests.support.apiserver import ApiServer

NEWER = 50
"""Objects that are made after the backup."""
SETTINGS = ObjectRef("ConfigMap", "settings", "web")


def server_of(folder: Path, port: int = 0) -> ApiServer:
    return ApiServer(folder / "api", port=port, scheduler=False, service_accounts=False, node_lifecycle=False)


def fill(server: ApiServer, *pods: str, value: str, node: bool = True) -> None:
    """The state of a server. The pods use the settings."""
    server.create("namespaces", {"metadata": {"name": "web"}})
    if node:
        server.create("nodes", {"metadata": {"name": "n1"}})
    server.create("configmaps", {"metadata": {"name": "settings"}, "data": {"k": value}}, "web")
    for name in pods:
        spec = {
            "containers": [{"name": "c", "image": "i"}],
            "nodeName": "n1",
            "volumes": [{"name": "v", "configMap": {"name": "settings"}}],
        }
        server.create("pods", {"metadata": {"name": name}, "spec": spec}, "web")


@asynccontextmanager
async def client_of(folder: Path) -> AsyncIterator[tuple[Harness, int]]:
    """The client, after its server has gone with the pods a and b; and the server's port."""
    async with server_of(folder) as server:
        fill(server, "a", "b", value="new")
        for number in range(NEWER):
            server.create("configmaps", {"metadata": {"name": f"m{number}"}}, "web")
        agent = Agent(standalone=False, node_name="n1", kubeconfig=server.node_kubeconfig("n1"))
        async with Harness(KubeClient, name="api_clients/kube_client", context=agent) as harness:
            await harness.wait(lambda: bool(server.requests_for("watch", "pods")), "a watch of the pods")
            assert pods_of(harness) == {"a", "b"}
            assert await value_of(harness) == "new"
            harness.clear()
            await server.stop()
            yield harness, server.port
            assert harness.actor.client is not None
            await harness.actor.client.close()


def pods_of(harness: Harness) -> set[str]:
    """Those of the last list."""
    return {json.loads(one)["metadata"]["name"] for one in harness.sent(SourcePods, to="pod_config")[-1].pods}


def lists_more(server: ApiServer) -> Callable[[], bool]:
    """Whether pods are listed twice from now on: after the second request the first has been answered."""
    seen = len(server.requests_for("list", "pods"))
    return lambda: len(server.requests_for("list", "pods")) >= seen + 2


def told(harness: Harness) -> list[ServiceState]:
    """What `supervise status` says of a server that has lost the node."""
    return [one for one in harness.sent(ServiceState) if LOST in one.text]


async def value_of(harness: Harness) -> str:
    found = await harness.deliver(GetObject(SETTINGS, 5.0))
    value: str = json.loads(found.body)["data"]["k"]
    return value


async def test_pods_and_objects_are_those_of_the_backup(tmp_path: Path) -> None:
    async with client_of(tmp_path) as (harness, port), server_of(tmp_path, port) as restored:
        fill(restored, "a", "c", value="old")
        await harness.wait_sent(SourcePods, to="pod_config")
        assert pods_of(harness) == {"a", "c"}
        assert await value_of(harness) == "old"


async def test_pods_run_on_while_the_server_does_not_know_the_node(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(refused_collections, "PATIENCE_SECONDS", 0.0)
    async with client_of(tmp_path) as (harness, port), server_of(tmp_path, port) as empty:
        fill(empty, value="old", node=False)
        await harness.wait(lambda: bool(told(harness)), "the state is told")
        assert "restart the agent" in told(harness)[0].remedy
        assert not harness.sent(SourcePods)
        for number in range(2 * NEWER):  # soon this server has seen more than the one before
            empty.create("configmaps", {"metadata": {"name": f"m{number}"}}, "web")
        await harness.wait(lists_more(empty), "two more lists")
        assert not harness.sent(SourcePods)
        empty.create("nodes", {"metadata": {"name": "n1"}})
        await harness.wait_sent(SourcePods, to="pod_config")
        assert pods_of(harness) == set()
