"""The transport of ExecSync. An answer has up to 16 MiB and needs three times that in memory, so one is read at a time.
A runtime answers when the command has ended, so a long command delays no other. Waiting answers stay in the runtime:
with fixed flow control, gRPC takes at most 64 KiB of each.
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
"""Seconds in which a runtime must send the rest of a started answer."""


class OutputTransport(GrpcTransport):
    """Has its own channel, for unary methods."""

    options = (("grpc.http2.bdp_probe", 0),)

    def __init__(self, *arguments: Any, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self._read_permit = asyncio.Semaphore(1)

    def _kind(self, method: Method[Request, Response], channel: grpc.aio.Channel) -> Any:
        """The call as a stream: the same on the wire, but the answer is read only on request."""
        return channel.unary_stream

    async def _answer(
        self, method: Method[Request, Response], request: Request, timeout: float | None, metadata: Any
    ) -> Response:
        call = self._callable(method)(request, timeout=timeout, metadata=metadata)
        try:
            await call.initial_metadata()
            async with self._read_permit, asyncio.timeout(scaled(READ_SECONDS)):
                response = await call.read()
        except TimeoutError:
            text = f"the answer has not come within {scaled(READ_SECONDS):g} s"
            raise DeadlineExceeded(method.name, "DEADLINE_EXCEEDED", text) from None
        finally:
            call.cancel()
        if not isinstance(response, method.response):
            raise from_rpc(method.name, "INTERNAL", "there is no answer")
        return response
