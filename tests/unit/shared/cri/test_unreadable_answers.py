"""A runtime whose answer is no message of CRI: the call fails, and no actor."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import grpc
import pytest

from actors.shared.cri.errors import CriError
from actors.shared.cri.methods import Method
from actors.shared.cri.transport import GrpcTransport
from proto import cri_pb2 as cri

UNARY = Method("Version", "/runtime.v1.RuntimeService/Version", cri.VersionRequest, cri.VersionResponse, False)
STREAM = Method("Events", "/runtime.v1.RuntimeService/Events", cri.VersionRequest, cri.VersionResponse, True)


async def _unary(request: bytes, context: Any) -> bytes:
    return b"\xff"


async def _stream(request: bytes, context: Any) -> AsyncIterator[bytes]:
    yield b"\xff"


@contextlib.asynccontextmanager
async def transport(directory: Path) -> AsyncIterator[GrpcTransport]:
    server = grpc.aio.server()
    handlers = {
        "Version": grpc.unary_unary_rpc_method_handler(_unary),
        "Events": grpc.unary_stream_rpc_method_handler(_stream),
    }
    server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler("runtime.v1.RuntimeService", handlers)])
    server.add_insecure_port(f"unix://{directory}/s")
    await server.start()
    made = GrpcTransport(f"{directory}/s")
    try:
        yield made
    finally:
        await made.close()
        await server.stop(0)


async def test_a_call_with_an_unreadable_answer_fails(tmp_path: Path) -> None:
    async with transport(tmp_path) as made:
        with pytest.raises(CriError, match="the answer cannot be read"):
            await made.call(UNARY, cri.VersionRequest(), 10.0)


async def test_a_stream_with_an_unreadable_message_fails(tmp_path: Path) -> None:
    async with transport(tmp_path) as made:
        with pytest.raises(CriError, match="the answer cannot be read"):
            async for _ in made.stream(STREAM, cri.VersionRequest()):
                pass
