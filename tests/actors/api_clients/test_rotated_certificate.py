"""A client goes on with the certificate that cert_manager says, on a new connection, also after it was replaced."""

from __future__ import annotations

import asyncio
from pathlib import Path

from actors.api_clients.api_actor import ApiActor
from actors.api_clients.messages import CredentialsChanged
from actors.shared.config.agent import Agent
from supervision.testing.harness import Harness
from tests.support.apiserver import kubeconfigs
from tests.support.apiserver.server import ApiServer

NODE = "system:node:n1"


class Client(ApiActor):
    """One that does nothing by itself."""


def in_one_file(pair: tuple[Path, Path], path: Path) -> str:
    path.write_bytes(b"".join(part.read_bytes() for part in pair))
    return str(path)


def test_the_certificate_inside_the_kubeconfig_gives_way_to_the_rotated_one(tmp_path):
    async def story():
        async with ApiServer(tmp_path / "server") as server:
            old, new = server.authority.client("system:node:old", "system:nodes"), tmp_path / "new.pem"
            path = tmp_path / "kubelet.conf"
            kubeconfigs.write(path, server.url, server.authority.pem, kubeconfigs.embedded_user(old))
            in_one_file(server.authority.client(NODE, "system:nodes"), new)
            agent = Agent(standalone=False, kubeconfig=str(path), node_name="n1")
            async with Harness(Client, name="api_clients/kube_client", context=agent) as harness:
                client = harness.actor
                await client.request("GET", "/version")
                assert server.requests[-1].user == "system:node:old"
                told = CredentialsChanged(str(path), 1, str(new))
                await harness.deliver(told, "cert_manager")
                await client.request("GET", "/version")
                assert server.requests[-1].user == NODE
                in_one_file(server.authority.client("system:node:n1b", "system:nodes"), new)
                await harness.advance(10)  # the file has changed: seen without a word
                await client.request("GET", "/version")
                assert server.requests[-1].user == "system:node:n1b"
                await harness.deliver(CredentialsChanged(str(path), 2), "cert_manager")
                await client.request("GET", "/version")
                assert server.requests[-1].user == "system:node:old"

    asyncio.run(story())
