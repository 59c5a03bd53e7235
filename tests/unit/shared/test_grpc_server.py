"""A gRPC server on a Unix socket."""

from __future__ import annotations

from pathlib import Path

import grpc
import grpc.aio
import pytest

from actors.shared.grpc_server import serve


def add_echo(server: grpc.aio.Server) -> None:
    async def answer(request: bytes, _context: object) -> bytes:
        return request

    handler = grpc.unary_unary_rpc_method_handler(answer)
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("Echo", {"Say": handler}),))


async def test_a_client_of_the_socket_reaches_the_services_within_the_options(tmp_path: Path) -> None:
    server = await serve(f"{tmp_path}/s", add_echo, 4, [("grpc.max_receive_message_length", 8)])
    async with grpc.aio.insecure_channel(f"unix://{tmp_path}/s") as channel:
        say = channel.unary_unary("/Echo/Say", request_serializer=bytes, response_deserializer=bytes)
        assert await say(b"12345678", timeout=30) == b"12345678"
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await say(b"123456789", timeout=30)
    await server.stop(None)
    assert refused.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED


async def test_a_path_at_which_no_socket_can_be_is_an_operating_system_error(tmp_path: Path) -> None:
    path = f"{tmp_path}/absent/s"
    with pytest.raises(OSError, match=f"cannot listen on {path}: "):
        await serve(path, add_echo, 4)
