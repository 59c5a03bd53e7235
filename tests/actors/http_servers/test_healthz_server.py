"""The healthz server over a real socket."""

from __future__ import annotations

import asyncio
import socket

from actors.http_servers.healthz_server import MAX_CONNECTIONS, MAX_PIPELINED, HealthzServer
from actors.http_servers.serving.port import RETRY_SECONDS
from actors.shared.config.agent import Agent
from actors.shared.config.fields.kubelet_configuration import KubeletConfiguration
from supervision.process_messages import ServiceState
from supervision.protocol import FORK_SERVER
from supervision.testing.harness import Harness
from tests.support.tcp_ports import free_port


async def get(port: int, text: str = "GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n") -> str:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(text.encode())
    data = await asyncio.wait_for(reader.read(), 5)
    writer.close()
    return data.decode()


def harness(port: int) -> Harness:
    config = KubeletConfiguration(healthzPort=port, healthzBindAddress="127.0.0.1")
    return Harness(HealthzServer, name="http_servers/healthz_server", context=Agent(config=config))


def test_healthz_answers_ok_to_split_and_pipelined_requests():
    async def story():
        port = free_port()
        async with harness(port):
            assert (await get(port)).endswith("\r\n\r\nok")
            twice = "GET /healthz HTTP/1.1\r\n\r\nGET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n"
            assert (await get(port, twice)).count("200 OK") == 2

    asyncio.run(story())


def test_a_taken_port_is_tried_again_until_it_is_free():
    async def story():
        port = free_port()
        with socket.socket() as holder:
            holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            holder.bind(("127.0.0.1", port))
            holder.listen()
            server = harness(port)
            await server.__aenter__()
        (refused,) = server.sent(ServiceState, FORK_SERVER)
        assert (refused.service, refused.text) == (
            "healthzPort",
            f"cannot listen on 127.0.0.1:{port}: Address already in use",
        )
        await server.advance(RETRY_SECONDS)
        assert "ok" in await get(port)
        assert server.sent(ServiceState, FORK_SERVER)[1:] == [ServiceState("healthzPort")]
        await server.__aexit__(None, None, None)

    asyncio.run(story())


def test_a_taken_port_is_a_trouble_no_more_once_another_one_or_none_is_configured():
    async def story():
        for port in (free_port(), 0):
            async with harness(port) as server:
                assert server.sent(ServiceState, FORK_SERVER) == [ServiceState("healthzPort")]

    asyncio.run(story())


def test_an_endless_head_is_refused():
    async def story():
        port = free_port()
        async with harness(port):
            assert "431" in await get(port, "GET /healthz HTTP/1.1\r\nX: " + "a" * 9000)

    asyncio.run(story())


def test_a_client_with_many_requests_at_once_gets_some_answers_and_is_disconnected():
    async def story():
        port = free_port()
        async with harness(port):
            assert (await get(port, "GET /healthz HTTP/1.1\r\n\r\n" * 200)).count("200 OK") == MAX_PIPELINED
            assert "431" in await get(port, "GET /healthz HTTP/1.1\r\n\r\n" * 400)

    asyncio.run(story())


def test_a_client_with_many_silent_connections_keeps_no_other_out():
    async def story():
        port = free_port()
        async with harness(port):
            silent = [await asyncio.open_connection("127.0.0.1", port) for _ in range(MAX_CONNECTIONS + 10)]
            assert "200 OK" in await get(port)
            assert await asyncio.wait_for(silent[0][0].read(), 5) == b"", "the oldest one has made room"
            for _, writer in silent:
                writer.close()

    asyncio.run(story())


def test_a_client_that_sends_requests_stays_connected_longer_than_a_silent_one():
    async def story():
        port = free_port()
        async with harness(port):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            silent = [await asyncio.open_connection("127.0.0.1", port) for _ in range(MAX_CONNECTIONS - 1)]
            for _ in range(2):
                writer.write(b"GET /healthz HTTP/1.1\r\n\r\n")
                assert (await asyncio.wait_for(reader.readuntil(b"\r\n\r\nok"), 5)).startswith(b"HTTP/1.1 200")
                assert "200 OK" in await get(port)
            for one in (writer, *(writer for _, writer in silent)):
                one.close()

    asyncio.run(story())
