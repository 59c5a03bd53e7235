"""The certificate manager of a node that joins, against a real TLS API server that signs; time is the test's."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import os
import stat
import time
from pathlib import Path

import pytest

from actors.api import kubeconfig
from actors.api.access import Access
from actors.api.client import ApiClient
from actors.api.errors import NotFound
from actors.api_clients.messages import CredentialsChanged
from actors.cert_manager.actor import CHECK_SECONDS, CertManager
from actors.cert_manager.certificate import read
from actors.config.agent import Agent
from actors.config.kubelet_configuration import KubeletConfiguration
from supervision.harness import Harness
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

    def start(self, *, rotate: bool = True, **config: object) -> Harness:
        context = Agent(
            node_name="n1",
            cert_dir=str(self.pki),
            kubeconfig=str(self.kubeconfig),
            bootstrap_kubeconfig=self.bootstrap,
            standalone=False,
            config=KubeletConfiguration(rotateCertificates=rotate, **config),
        )
        return Harness(CertManager, name="cert_manager", context=context, arguments={"wall": self.wall})

    async def pass_time(self, harness: Harness, seconds: float) -> None:
        """Both clocks go on."""
        for _ in range(round(seconds / CHECK_SECONDS)):
            self.offset += CHECK_SECONDS
            await harness.advance(CHECK_SECONDS)
            await asyncio.sleep(0.01)

    @property
    def current(self) -> Path:
        return self.pki / "kubelet-client-current.pem"

    async def who_am_i(self, access: Access | None = None) -> str:
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


@scenario
async def test_with_a_bootstrap_kubeconfig_only_a_certificate_is_obtained_and_a_kubeconfig_written(node):
    async with node.start() as harness:
        told = await harness.wait_sent(CredentialsChanged, to="api_clients/kube_client", timeout=10)
    assert told.kubeconfig == str(node.kubeconfig)
    assert await node.who_am_i() == USER
    assert node.current.is_symlink()
    assert (mode(node.current), mode(node.kubeconfig), mode(node.pki)) == (0o600, 0o600, 0o700)
    assert sorted(path.name for path in node.pki.iterdir() if not path.name.startswith("kubelet.")) == sorted(
        [os.readlink(node.current), node.current.name]
    )
    (request,) = node.server.items(CSRS)
    assert request["spec"]["signerName"] == "kubernetes.io/kube-apiserver-client-kubelet"
    assert request["spec"]["usages"] == ["digital signature", "client auth"]
    assert {client for client, message in harness.outbox if isinstance(message, CredentialsChanged)} == {
        "api_clients/kube_client",
        "api_clients/heartbeat_client",
        "api_clients/event_client",
    }
