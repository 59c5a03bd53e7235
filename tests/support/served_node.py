"""A node server over real TLS, its neighbours faked, and a client of it."""

from __future__ import annotations

import asyncio
import http.client
import json
import socket
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Any

from actors.cert_manager import self_signed
from actors.cert_manager.messages import GetServingCertificate, ServingCertificate
from actors.config_controller.messages import Configz, GetConfigz
from actors.http_servers.node_server import NodeServer, ReadOnlyServer
from actors.shared.config.agent import Agent
from actors.shared.config.fields.groups import X509Authentication
from actors.shared.config.fields.kubelet_configuration import KubeletConfiguration
from actors.status_manager.messages import GetPods, GetPodStatus, Pods, PodStatusFound
from supervision.actor import Actor
from supervision.protocol import (
    ActorState,
    GetTree,
    Tree,
)
from supervision.testing.harness import Harness
from tests.support.certificates import Authority
from tests.support.tcp_ports import free_port

POD = {"metadata": {"name": "p", "namespace": "d", "uid": "u"}, "spec": {"containers": [{"name": "c"}]}}


NO_HEADERS: dict[str, str] = {}
STAMP = "2026-11-21T04:00:00.000000000Z"


def status(**state: Any) -> dict[str, Any]:
    last = state.pop("last", {})
    entry = {
        "name": "c",
        "state": state,
        "lastState": last,
        "ready": True,
        "restartCount": 1,
        "image": "",
        "imageID": "",
    }
    return {"containerStatuses": [{**entry, "containerID": "containerd://x"}]}


RUNNING = status(running={"startedAt": STAMP})


TREE = Tree(
    pid=1,
    uptime=1,
    state="ready",
    actors=[
        ActorState(name="pod_workers/worker/0", parent="pod_workers", kind="actor", state="running", restarts=2),
        ActorState(name="pleg", parent="root", kind="actor", state="running"),
    ],
)


class Node:
    """A node server on a free port with a CA, and clients to it."""

    def __init__(self, tmp_path: Path, *, with_ca: bool = True, actor: type[Actor] = NodeServer, **config: Any) -> None:
        self.authority = Authority(tmp_path / "ca")
        self.port = free_port()
        self.cert = (str(tmp_path / "s.crt"), str(tmp_path / "s.key"))
        self_signed.create(*self.cert, "n", ["n", "127.0.0.1"])
        self.ca = str(self.authority.path) if with_ca else ""
        x509 = X509Authentication(clientCAFile=self.ca)
        base = KubeletConfiguration()
        groups = __import__("msgspec").structs.replace(base.authentication, x509=x509)
        ports: dict[str, Any] = {"readOnlyPort": self.port} if actor is ReadOnlyServer else {"port": self.port}
        settings = KubeletConfiguration(
            authentication=groups, address="127.0.0.1", podLogsDir=str(tmp_path / "logs"), **ports, **config
        )
        self.harness: Harness[Any] = Harness(actor, name="http_servers/node_server", context=Agent(config=settings))
        self.answer(GetServingCertificate, ServingCertificate(*self.cert, self.ca, 1))
        self.answer(GetTree, TREE)
        self.answer(GetPods, Pods(b'{"kind":"PodList","items":[]}'))
        self.answer(GetConfigz, Configz(b'{"kubeletconfig":{}}'))
        self.pod_is(RUNNING)
        self.plain = actor is ReadOnlyServer

    def answer(self, question: type, answer: Any) -> None:
        self.harness.answer(question, answer)

    def pod_is(self, pod_status: dict[str, Any]) -> None:
        found = PodStatusFound("u", json.dumps(POD).encode(), json.dumps(pod_status).encode())
        missing = PodStatusFound("", b"", b"")
        self.answer(GetPodStatus, lambda question: found if question.name == "p" else missing)

    def connection(self, client: tuple[str, str] | None, timeout: float = 30) -> http.client.HTTPConnection:
        """Made with the first request."""
        if self.plain:
            return http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        context = ssl.create_default_context(cafile=self.cert[0])
        if client:
            context.load_cert_chain(*client)
        return http.client.HTTPSConnection("127.0.0.1", self.port, context=context, timeout=timeout)

    def _send(
        self, path: str, client: tuple[str, str] | None, method: str, body: bytes, headers: dict[str, str]
    ) -> tuple[int, str, Any]:
        connection = self.connection(client)
        try:
            connection.request(method, path, body, headers)
            response = connection.getresponse()
            return response.status, response.read().decode(errors="replace"), response.headers
        finally:
            connection.close()

    async def send(
        self, method: str, path: str, headers: dict[str, str] = NO_HEADERS, body: bytes = b""
    ) -> tuple[int, str, Any]:
        """Status, text and headers of the answer."""
        return await asyncio.to_thread(
            self._send, path, self.authority.client("admin", "system:masters"), method, body, headers
        )

    async def fetch(
        self, path: str, *, client: Any = "admin", method: str = "GET", body: bytes = b"", accept: str = "*/*"
    ) -> tuple[int, str]:
        pair = self.authority.client("admin", "system:masters") if client == "admin" else client
        return (await asyncio.to_thread(self._send, path, pair, method, body, {"Accept": accept}))[:2]

    async def up(self) -> None:
        async with asyncio.timeout(10):
            while True:
                try:
                    return await asyncio.to_thread(
                        lambda: socket.create_connection(("127.0.0.1", self.port), 1).close()
                    )
                except OSError:
                    await asyncio.sleep(0.02)


def serve(node: Node, story: Callable[[Node], Any]) -> None:
    async def run() -> None:
        async with node.harness:
            await node.up()
            await story(node)

    asyncio.run(run())
