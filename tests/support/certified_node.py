"""A node's files, its certificate manager on them, and a real TLS API server that signs; time is the test's."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import os
import stat
import time
from pathlib import Path
from typing import Any

from actors.api_clients.messages import CredentialsChanged
from actors.cert_manager.actor import CHECK_SECONDS, CertManager
from actors.shared.api import kubeconfig
from actors.shared.api.access import ServerAccess
from actors.shared.api.client import ApiClient
from actors.shared.api.errors import NotFound
from actors.shared.config.agent import Agent
from actors.shared.config.fields.kubelet_configuration import KubeletConfiguration
from supervision.protocol import GetMetrics
from supervision.testing.harness import Harness
from supervision.testing.virtual_clock import VirtualClock
from tests.support.apiserver import signing
from tests.support.apiserver.server import ApiServer

USER = "system:node:n1"
CSRS = "certificatesigningrequests"


def scenario(story):
    """A test in its own loop, with a server of its own."""

    @functools.wraps(story)
    def test(tmp_path, caplog):
        async def run():
            async with ApiServer(tmp_path / "server") as server:
                await asyncio.wait_for(story(Node(tmp_path, server), *([caplog] if wants_log else [])), 60)

        asyncio.run(run())

    wants_log = "caplog" in story.__code__.co_varnames[: story.__code__.co_argcount]
    del test.__wrapped__
    return test


class Node:
    """The files of a node, and the actor on them."""

    def __init__(self, folder: Path, server: ApiServer) -> None:
        self.server, self.folder = server, folder
        self.pki, self.kubeconfig = folder / "pki", folder / "kubelet.conf"
        self.bootstrap = server.bootstrap_kubeconfig()
        self.offset = 0.0

    def wall(self) -> float:
        return time.time() + self.offset

    def start(self, *, rotate: bool = True, **config: Any) -> Harness:
        context = Agent(
            node_name="n1",
            cert_dir=str(self.pki),
            kubeconfig=str(self.kubeconfig),
            bootstrap_kubeconfig=self.bootstrap,
            standalone=False,
            config=KubeletConfiguration(rotateCertificates=rotate, **config),
        )
        clock = VirtualClock()
        clocks = {"wall": self.wall, "monotonic": clock}
        return Harness(CertManager, name="cert_manager", context=context, arguments=clocks, clock=clock)

    async def pass_time(self, harness: Harness, seconds: float) -> None:
        """Both clocks go on."""
        for _ in range(round(seconds / CHECK_SECONDS)):
            self.offset += CHECK_SECONDS
            await harness.advance(CHECK_SECONDS)
            await asyncio.sleep(0.01)

    @property
    def current(self) -> Path:
        return self.pki / "kubelet-client-current.pem"

    async def who_am_i(self, access: ServerAccess | None = None) -> str:
        """Whom the server takes the bearer of the kubeconfig for."""
        client = ApiClient(access or kubeconfig.load(str(self.kubeconfig)))
        try:
            with contextlib.suppress(NotFound):
                await client.call("GET", "/api/v1/nodes/n1")
        finally:
            await client.close()
        return self.server.requests[-1].user


def mode(path: Path) -> int:
    return stat.S_IMODE(os.stat(path).st_mode)


def decide(node: Node, kind: str, name: str) -> None:
    """As an administrator: Approved, Denied."""

    def edit(csr: dict) -> None:
        signing.decide(csr, kind, "Test", "by the test")
        signing.issue(csr, node.server.authority, node.server.options)

    node.server.registry.change((f"{CSRS}.certificates.k8s.io", "", name), edit)


async def requests(node: Node, harness: Harness, count: int = 1) -> list[str]:
    """Names of the requests, once there are so many."""
    await harness.wait(lambda: len(node.server.items(CSRS)) >= count, f"{count} requests", timeout=10)
    return [csr["metadata"]["name"] for csr in node.server.items(CSRS)]


async def joined(harness: Harness, count: int = 1) -> CredentialsChanged:
    return await harness.wait_sent(CredentialsChanged, to="api_clients/kube_client", count=count, timeout=10)


async def values(harness: Harness) -> dict[str, float]:
    snapshot = await harness.deliver(GetMetrics())
    return {sample.name: sample.value for sample in snapshot.samples}


def failures(harness: Harness) -> float:
    samples = harness.actor.metrics.snapshot("", 1).samples
    name = "kubelet_certificate_manager_client_expiration_renew_errors"
    return float(sum(sample.value for sample in samples if sample.name == name))
