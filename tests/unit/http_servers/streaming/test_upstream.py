"""The runtime's streaming server has a limited time for each step."""

from __future__ import annotations

import asyncio
import socket

import pytest
from tornado.httputil import HTTPHeaders

from actors.http_servers.streaming import upstream
from actors.http_servers.streaming.upstream import UpstreamError, open_upstream


async def test_a_runtime_that_does_not_read_the_request_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upstream, "HANDSHAKE_SECONDS", 0.1)
    headers = HTTPHeaders({"User-Agent": "a" * (32 << 20)})
    with socket.create_server(("127.0.0.1", 0)) as silent:
        async with asyncio.timeout(20):
            with pytest.raises(UpstreamError):
                await open_upstream(f"http://127.0.0.1:{silent.getsockname()[1]}/x", "GET", headers)
