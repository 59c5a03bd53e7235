"""Serves a fake on a Unix socket, as a runtime does."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, NoReturn

import grpc
import grpc.aio
from google.protobuf.message import Message

from actors.shared.cri import container_records, leftover_tasks, methods
from actors.shared.cri.methods import GET_CONTAINER_EVENTS, Method
from actors.shared.cri.transport import MAX_MESSAGE_BYTES

from .runtime import FakeRuntime
from .world import RpcFailure


def _handler(fake: FakeRuntime, method: Method[Any, Any]) -> grpc.RpcMethodHandler[Any, Any]:
    async def answer(request: Message, context: grpc.aio.ServicerContext[Any, Any]) -> Message:
        try:
            return await fake.handle(method.name, request)
        except RpcFailure as failure:
            await _abort(context, failure)

    async def events(request: Message, context: grpc.aio.ServicerContext[Any, Any]) -> AsyncIterator[Message]:
        try:
            async for event in fake.events():
                yield event
        except RpcFailure as failure:
            await _abort(context, failure)

    make = grpc.unary_stream_rpc_method_handler if method.streams else grpc.unary_unary_rpc_method_handler
    return make(
        events if method.streams else answer,
        request_deserializer=method.request.FromString,
        response_serializer=method.response.SerializeToString,
    )


async def _abort(context: grpc.aio.ServicerContext[Any, Any], failure: RpcFailure) -> NoReturn:
    await context.abort(grpc.StatusCode[failure.code], failure.details)
    raise AssertionError("abort raises")


@asynccontextmanager
async def serve(fake: FakeRuntime, path: str | Path) -> AsyncIterator[str]:
    """Yields the endpoint. The fake survives the end of it, as pods survive their runtime."""
    sizes = [
        ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
        ("grpc.max_send_message_length", MAX_MESSAGE_BYTES),
    ]
    server = grpc.aio.server(options=sizes)
    services: dict[str, dict[str, grpc.RpcMethodHandler[Any, Any]]] = {}
    called = [method for method in vars(methods).values() if isinstance(method, Method)]
    for method in (*called, leftover_tasks.KILL, leftover_tasks.DELETE, container_records.GET):
        if not method.streams or method is GET_CONTAINER_EVENTS:
            _, service, name = method.path.split("/")
            services.setdefault(service, {})[name] = _handler(fake, method)
    for service, handlers in services.items():
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service, handlers),))
    endpoint = f"unix://{path}"
    server.add_insecure_port(endpoint)
    await server.start()
    try:
        yield endpoint
    finally:
        await server.stop(None)
        with suppress(FileNotFoundError):
            os.unlink(path)
