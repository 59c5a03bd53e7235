"""Transports CRI calls to a runtime: gRPC over a Unix socket."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any, ClassVar, Final, Protocol

import grpc
import grpc.aio

from actors.shared.grpc_threads import ensure_threads
from actors.shared.kube.go_text import UNREADABLE
from actors.shared.tracing.span import Kind, Span
from actors.shared.tracing.tracer import OFF, Tracer, headers_of
from supervision.errors import error_reason

from .errors import CriError, Unavailable, from_rpc
from .methods import Method, Request, Response

MAX_MESSAGE_BYTES: Final = 16 * 1024 * 1024
"""Limit of one message in either direction, as in the kubelet."""

CHANNEL_OPTIONS: Final = (
    ("grpc.max_send_message_length", MAX_MESSAGE_BYTES),
    ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 1000),  # the longest wait of a pod after the runtime is back
    ("grpc.min_reconnect_backoff_ms", 5000),  # despite its name: how long one attempt to connect may take
    ("grpc.default_authority", "localhost"),  # Go's HTTP/2 server refuses a path in :authority
    # features that a local socket does not need and that cost memory and time
    ("grpc.enable_retries", 0),
    ("grpc.service_config_disable_resolution", 1),
    ("grpc.enable_http_proxy", 0),
    ("grpc.enable_channelz", 0),
    ("grpc.per_rpc_retry_buffer_size", 0),
)

LONGEST_SECONDS: Final = 1e9
"""The longest timeout in seconds. gRPC counts a deadline in nanoseconds since 1970 in 64 bits: one that overflows
expires at once."""

_NEARLY_ALL: Final = 0.95
"""The share of a timeout after which a call counts as timed out: the deadline that the runtime gets is rounded."""

STATUS_CODE: Final = "rpc.grpc.status_code"


class Transport(Protocol):
    """Calls go out, responses or CriErrors come back."""

    async def call(self, method: Method[Request, Response], request: Request, timeout: float | None) -> Response:
        """Send one call and return its answer. Raises CriError. `timeout` in seconds; None: no deadline."""

    def stream(self, method: Method[Request, Response], request: Request) -> AsyncIterator[Response]:
        """Yield answers until the runtime ends the stream. Raises CriError when it breaks."""

    async def close(self) -> None:
        """Close the connection; calls in progress fail."""


class GrpcTransport:
    """A channel, opened at the first call: never before a fork. It reconnects by itself."""

    options: ClassVar[tuple[tuple[str, int], ...]] = ()
    """Options of the channel, besides CHANNEL_OPTIONS."""

    def __init__(self, path: str, tracer: Tracer = OFF) -> None:
        self.path, self._tracer = path, tracer
        self._channel: grpc.aio.Channel | None = None
        self._calls: dict[Method[Any, Any], Any] = {}
        """By method, not by path: one path may have its answers decoded in two ways."""

    def _callable(self, method: Method[Request, Response]) -> Any:
        rpc = self._calls.get(method)
        if rpc is None:
            if self._channel is None:
                _ensure_threads(method)
                self._channel = grpc.aio.insecure_channel(
                    f"unix://{self.path}", options=(*CHANNEL_OPTIONS, *self.options)
                )
            rpc = self._calls[method] = self._kind(method, self._channel)(
                method.path,
                request_serializer=method.request.SerializeToString,
                response_deserializer=method.response.FromString,
            )
        return rpc

    def _kind(self, method: Method[Any, Any], channel: grpc.aio.Channel) -> Any:
        """The constructor of the method's calls."""
        return channel.unary_stream if method.streams else channel.unary_unary

    async def _answer(
        self, method: Method[Request, Response], request: Request, timeout: float | None, metadata: Any
    ) -> Response:
        """Raises AioRpcError, CriError."""
        response: Response | None = await self._callable(method)(request, timeout=timeout, metadata=metadata)
        if response is None:
            raise from_rpc(method.name, "INTERNAL", UNREADABLE)
        return response

    async def call(self, method: Method[Request, Response], request: Request, timeout: float | None) -> Response:
        span, clock = self._start_span(method), asyncio.get_running_loop().time
        timeout = None if timeout is None else min(timeout, LONGEST_SECONDS)
        overdue_at = None if timeout is None else clock() + timeout * _NEARLY_ALL
        with self._tracer.around(span):
            try:
                metadata = (*method.headers, *headers_of(span))
                response = await self._answer(method, request, timeout, metadata)
            except grpc.aio.AioRpcError as error:
                span.set(STATUS_CODE, error.code().value[0])
                overdue = overdue_at is not None and clock() >= overdue_at
                raise _to_cri_error(method, error, overdue=overdue) from None
            except asyncio.CancelledError:
                span.set(STATUS_CODE, grpc.StatusCode.CANCELLED.value[0])
                raise
            span.set(STATUS_CODE, 0)
        return response

    async def stream(self, method: Method[Request, Response], request: Request) -> AsyncIterator[Response]:
        span = self._start_span(method)
        call = self._callable(method)(request, metadata=(*method.headers, *headers_of(span)))
        try:
            async for response in call:
                if response is None:
                    raise from_rpc(method.name, "INTERNAL", UNREADABLE)
                yield response
            span.set(STATUS_CODE, 0)
        except grpc.aio.AioRpcError as error:
            span.set(STATUS_CODE, error.code().value[0])
            mapped = _to_cri_error(method, error)
            span.raised(mapped)
            raise mapped from None
        finally:
            call.cancel()
            span.end()

    def _start_span(self, method: Method[Any, Any]) -> Span:
        """A span with the name and the attributes of gRPC's own instrumentation."""
        name = method.path.removeprefix("/")
        about = {"rpc.system": "grpc", "rpc.service": name.partition("/")[0], "rpc.method": method.name}
        return self._tracer.start(name, about, kind=Kind.CLIENT)

    async def close(self) -> None:
        channel, self._channel = self._channel, None
        self._calls.clear()
        if channel is not None:
            await channel.close(None)


def _ensure_threads(method: Method[Any, Any]) -> None:
    try:
        ensure_threads()
    except OSError as error:
        raise Unavailable(method.name, "UNAVAILABLE", error_reason(error)) from None


def _to_cri_error(method: Method[Any, Any], error: grpc.aio.AioRpcError, *, overdue: bool = False) -> CriError:
    return from_rpc(method.name, error.code().name, error.details() or "", overdue=overdue)
