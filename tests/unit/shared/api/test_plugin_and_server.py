"""A credential plugin in front of a real server: tokens that are refused, certificates that change."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path

from actors.shared.api.access import Exec, ServerAccess
from actors.shared.api.client import ApiClient
from tests.support.apiserver import Answer, ApiServer, Reply, Request

V1 = "client.authentication.k8s.io/v1"


def plugin(server: ApiServer, path: Path) -> ServerAccess:
    """It prints what the file at `path` has."""
    return ServerAccess(
        server=server.url,
        ca=server.authority.path.read_bytes(),
        exec=Exec(api_version=V1, command="/bin/cat", args=(str(path),)),
    )


def issue(path: Path, **status: str) -> None:
    path.write_text(json.dumps({"kind": "ExecCredential", "apiVersion": V1, "status": status}))


async def test_a_refused_token_is_renewed_and_the_call_repeated(tmp_path: Path) -> None:
    async def picky(request: Request) -> Reply:
        return Answer(200 if request.headers["authorization"] == f"Bearer {good}" else 401)

    good, said = "one", tmp_path / "said"
    async with ApiServer(tmp_path, picky) as server:
        issue(said, token="one")
        client = ApiClient(plugin(server, said))
        await client.call("GET", "/x")
        good = "two"
        issue(said, token="two")
        assert (await client.call("POST", "/x", body=b"{}")).status == 200
        await client.close()
    assert [asked.method for asked in server.requests] == ["GET", "POST", "POST"]
    assert server.connections == 1


async def test_a_certificate_of_a_plugin_is_shown_and_its_successor_on_a_new_connection(tmp_path: Path) -> None:
    async def ok(request: Request) -> Reply:
        return Answer(200)

    said = tmp_path / "said"
    async with ApiServer(tmp_path, ok) as server:

        def give(user: str, until: float) -> None:
            cert, key = (Path(path).read_text() for path in server.authority.client(user))
            when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(until))
            issue(said, clientCertificateData=cert, clientKeyData=key, expirationTimestamp=when)

        give("first", time.time() + 1)
        client = ApiClient(plugin(server, said))
        await client.call("GET", "/x")
        give("second", time.time() + 3600)
        await asyncio.sleep(1.1)
        await client.call("GET", "/x")
        await client.call("GET", "/x")
        await client.close()
    assert [asked.user for asked in server.requests] == ["first", "second", "second"]
    assert server.connections == 2
