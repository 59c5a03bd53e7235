"""The transport of ExecSync, whose answers are up to 16 MiB each and take three times that: one is read at a time.

A runtime answers when the command has ended, so one that runs for long holds up no other. The answers that wait are
in the runtime: without flow control that grows by itself, gRPC takes no more than 64 KiB of each.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final

import grpc.aio

from supervision.time_scale import scaled

from .errors import DeadlineExceeded, from_rpc
from .methods import Method, Request, Response
from .transport import GrpcTransport

READ_SECONDS: Final = 30.0
"""Seconds in which a runtime must send the rest of an answer that it has begun."""


class OutputTransport(GrpcTransport):
    """A channel of its own. Answers are of unary methods."""

    options = (("grpc.http2.bdp_probe", 0),)

    def __init__(self, *arguments: Any, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self._turn = asyncio.Semaphore(1)

    def _kind(self, method: Method[Request, Response], channel: grpc.aio.Channel) -> Any:
        """On the wire both kinds are the same; here this one is not read before it is asked for."""
        return channel.unary_stream

    async def _answer(
        self, method: Method[Request, Response], request: Request, timeout: float | None, metadata: Any
    ) -> Response:
        call = self._callable(method)(request, timeout=timeout, metadata=metadata)
        try:
            await call.initial_metadata()
            async with self._turn, asyncio.timeout(scaled(READ_SECONDS)):
                response = await call.read()
        except TimeoutError:
            text = f"the answer has not come within {scaled(READ_SECONDS):g} s"
            raise DeadlineExceeded(method.name, "DEADLINE_EXCEEDED", text) from None
        finally:
            call.cancel()
        if not isinstance(response, method.response):
            raise from_rpc(method.name, "INTERNAL", "there is no answer")
        return response
