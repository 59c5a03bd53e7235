"""Reaches a fake in the same process: messages are encoded and decoded, deadlines kept, as over a socket."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from actors.shared.cri.errors import DeadlineExceeded, Unimplemented, from_rpc
from actors.shared.cri.methods import GET_CONTAINER_EVENTS, Method, Request, Response

from .world import RpcFailure

if TYPE_CHECKING:
    from .runtime import FakeRuntime


class LocalTransport:
    """A Transport."""

    def __init__(self, fake: FakeRuntime) -> None:
        self._fake = fake

    async def call(self, method: Method[Request, Response], request: Request, timeout: float | None) -> Response:
        sent = method.request.FromString(request.SerializeToString())
        try:
            answer = await asyncio.wait_for(self._fake.handle(method.name, sent), timeout)
        except TimeoutError:
            raise DeadlineExceeded(method.name, "DEADLINE_EXCEEDED", "Deadline Exceeded") from None
        except RpcFailure as failure:
            raise from_rpc(method.name, failure.code, failure.details) from None
        return method.response.FromString(answer.SerializeToString())

    async def stream(self, method: Method[Request, Response], request: Request) -> AsyncIterator[Response]:
        if method.name != GET_CONTAINER_EVENTS.name:
            raise Unimplemented(method.name, "UNIMPLEMENTED", f"unknown method {method.name}")
        try:
            async for event in self._fake.events():
                yield method.response.FromString(event.SerializeToString())
        except RpcFailure as failure:
            raise from_rpc(method.name, failure.code, failure.details) from None

    async def close(self) -> None:
        """Nothing is held."""
