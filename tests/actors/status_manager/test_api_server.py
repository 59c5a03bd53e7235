"""Status manager and kube_client against an API server over TLS, with the node's own rights (RBAC, NodeRestriction)."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from actors.api_clients.kube_client.actor import KubeClient
from actors.api_clients.kube_client.messages import ApiCall, GetObject
from actors.pod_config.messages import SourcePod, SourcePods
from actors.shared.config.agent import Agent
from actors.status_manager.messages import PodObserved
from supervision.testing.harness import Harness
from tests.support.api_joined import joined, seen
from tests.support.api_neighbour import ApiNeighbour
from tests.support.apiserver import ApiServer
from tests.support.present import present

NODE = {"metadata": {"name": "node-1"}, "status": {"conditions": [{"type": "Ready", "status": "True"}]}}


class Pair:
    """Both actors, each in a harness, what one tells the other passed on."""

    def __init__(self, server: ApiServer, manager: Harness, client: Harness) -> None:
        self.server, self.manager, self.client = server, manager, client
        self._passed = 0
        manager.answer(ApiCall, lambda call: client.ask(call, "status_manager", timeout=20))
        manager.answer(GetObject, lambda question: client.ask(question, "status_manager", timeout=20))

    async def until(self, condition: Any, what: str) -> None:
        for _ in range(400):
            await self.forward()
            await self.manager.settle()
            if condition():
                return
            await asyncio.sleep(0.02)
            self.manager.clock.now += 0.02
            await self.manager.advance(0)
        raise AssertionError(f"{what}: {[pod['status'] for pod in self.server.items('pods')]}")

    async def forward(self) -> None:
        while self._passed < len(self.client.outbox):
            name, message = self.client.outbox[self._passed]
            self._passed += 1
            if name == "status_manager" and isinstance(message, SourcePods | SourcePod):
                await self.manager.deliver(message)

    async def tell(self, message: PodObserved) -> None:
        await self.manager.deliver(message)

    def pod(self, name: str = "p") -> dict[str, Any] | None:
        return self.server.get("pods", name)

    def uid(self, name: str) -> str:
        found = self.pod(name)
        return found["metadata"]["uid"] if found else ""

    def phase(self, name: str = "p") -> str:
        found = self.pod(name)
        return found["status"]["phase"] if found else "gone"


@contextlib.asynccontextmanager
async def paired(tmp_path: Path) -> AsyncIterator[Pair]:
    async with contextlib.AsyncExitStack() as stack:
        server = await stack.enter_async_context(ApiServer(tmp_path / "server", scheduler=False, node_lifecycle=False))
        server.create("nodes", NODE)
        context = Agent(
            root_dir=str(tmp_path), standalone=False, node_name="node-1", kubeconfig=server.node_kubeconfig("node-1")
        )
        client = Harness(KubeClient, name="api_clients/kube_client", context=context)
        manager = joined(tmp_path, ApiNeighbour())
        await stack.enter_async_context(client)
        await stack.enter_async_context(manager)
        yield Pair(server, manager, client)


def bound(server: ApiServer, name: str = "p", **meta: Any) -> dict[str, Any]:
    spec = {"containers": [{"name": "a", "image": "i"}], "nodeName": "node-1", "terminationGracePeriodSeconds": 0}
    return server.create("pods", {"metadata": {"name": name, "namespace": "default", **meta}, "spec": spec})


async def test_a_pod_of_the_server_runs_is_deleted_and_is_gone(tmp_path):
    async with paired(tmp_path) as pair:
        made = bound(pair.server)
        await pair.until(lambda: pair.manager.actor.table.api.get(made["metadata"]["uid"]), "the watch")
        await pair.tell(seen(made))
        await pair.until(lambda: pair.phase() == "Running", "running")
        status = present(pair.pod())["status"]
        assert status["podIPs"] == [{"ip": "10.1.0.2"}]
        assert {each["type"]: each["status"] for each in status["conditions"]}["Ready"] == "True"
        pair.server.delete("pods", "p", gracePeriodSeconds=5)
        await pair.until(lambda: pair.manager.actor.table.api.all()[0].metadata.deletionTimestamp, "the deletion")
        await pair.tell(seen(made, code=143, at=2.0, worker_phase="terminated", termination_step="volumes"))
        await pair.until(lambda: pair.phase() == "Failed", "the end")
        assert present(pair.pod())["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 143
        await pair.tell(seen(made, code=143, at=3.0, worker_phase="terminated", finished=True))
        await pair.until(lambda: pair.pod() is None, "gone")
        await pair.until(lambda: not pair.manager.actor.table.api.all(), "forgotten")


async def test_addresses_and_conditions_change_as_they_should(tmp_path):
    async with paired(tmp_path) as pair:
        made = bound(pair.server)
        gate = {"status": {"conditions": [{"type": "example.com/mine", "status": "True"}]}}
        pair.server.patch("pods", "p", gate, subresource="status")
        await pair.until(lambda: pair.manager.actor.table.api.all(), "the watch")
        await pair.tell(seen(made, sandbox_ready=False, run=False))
        await pair.until(lambda: present(pair.pod())["status"].get("podIP"), "first")
        assert pair.phase() == "Pending"
        await pair.tell(seen(made, at=2.0))
        await pair.until(lambda: pair.phase() == "Running", "second")
        conditions = {each["type"]: each for each in present(pair.pod())["status"]["conditions"]}
        assert conditions["example.com/mine"]["status"] == "True"
        assert conditions["Ready"]["status"] == "True"
        assert "reason" not in conditions["Ready"]


async def test_a_static_pod_is_mirrored_with_the_rights_of_a_node(tmp_path):
    async with paired(tmp_path) as pair:
        annotations = {"kubernetes.io/config.hash": "h1", "kubernetes.io/config.source": "file"}
        static = {
            "metadata": {"name": "web-node-1", "namespace": "default", "uid": "h1", "annotations": annotations},
            "spec": {"containers": [{"name": "a", "image": "i"}], "nodeName": "node-1"},
        }
        await pair.until(lambda: pair.manager.actor.table.api.synced, "the list")
        await pair.tell(seen(static))
        await pair.until(lambda: pair.phase("web-node-1") == "Running", "the mirror")
        first = present(pair.pod("web-node-1"))["metadata"]
        assert first["annotations"]["kubernetes.io/config.mirror"] == "h1"
        pair.server.delete("pods", "web-node-1", gracePeriodSeconds=0)
        await pair.until(lambda: pair.uid("web-node-1") not in ("", first["uid"]), "again")
        await pair.until(lambda: pair.phase("web-node-1") == "Running", "the new mirror")
        done: dict[str, Any] = {
            "code": 0,
            "worker_phase": "terminated",
            "removed": True,
            "finished": True,
            "gone": True,
            "at": 5.0,
        }
        await pair.tell(seen(static, **done))
        await pair.until(lambda: pair.pod("web-node-1") is None, "its end")


FAULTS = [
    {"kind": "conflict", "verb": "patch"},
    {"kind": "status", "code": 429, "retry_after": 1, "verb": "patch"},
    {"kind": "status", "code": 500, "verb": "patch"},
    {"kind": "status", "code": 503},
    {"kind": "drop", "verb": "patch"},
    {"kind": "lost", "verb": "patch"},
]


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
async def test_a_server_that_refuses_for_a_while_gets_the_status_in_the_end(tmp_path, fault):
    async with paired(tmp_path) as pair:
        made = bound(pair.server)
        await pair.until(lambda: pair.manager.actor.table.api.all(), "the watch")
        pair.server.fault(**fault, times=2)
        await pair.tell(seen(made))
        await pair.until(lambda: pair.phase() == "Running", "running")
