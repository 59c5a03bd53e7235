"""Requests to an API server and watches of it.

    client = ApiClient(kubeconfig.load(path))
    answer = await client.call("GET", "/api/v1/nodes/n1")
    async for event in client.watch("/api/v1/pods", {"resourceVersion": "7"}): ...

A request on a dead connection is repeated once on a new one if it was not sent completely or changes nothing. Nothing
else is repeated here.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Final

import httpcore

from actors.shared.token_bucket import TokenBucket
from actors.shared.tracing.tracer import OFF, Tracer
from supervision.time_scale import scaled

from .access import ServerAccess
from .connections import Connections
from .errors import ApiError, Invalid, TooLarge, Unauthorized, Unreachable, Unreadable, error_of
from .exchange import (
    MAX_OBJECT,
    NO_ANSWER,
    ApiResponse,
    Observer,
    RequestAttempt,
    RequestObservation,
    WatchEvent,
    bounded_body,
    headers_of,
    unreachable,
    warnings_of,
)
from .frames import FrameTooLong
from .lines import LineTooLong
from .media_types import JSON, MediaTypes
from .object_names import misread_name
from .plugin_metrics import PluginMetrics
from .transport import FAILURES, ApiTransport

USER_AGENT: Final = "kubelet/v1.36.2 (linux) troupelet"
QUIET_SECONDS: Final = 150.0
"""A watch that is silent for this long is closed (the server sends a bookmark each minute)."""


@dataclass(frozen=True)
class ClientTelemetry:
    """Who learns of a client's requests."""

    observe: Observer = lambda observation: None
    """Called after each request."""
    warned: Callable[[str], None] = lambda text: None
    """Called with each warning in an answer."""
    tracer: Tracer = OFF
    plugin_metrics: PluginMetrics = field(default_factory=PluginMetrics)


class ApiClient:
    """A client of one server: calls, repeated once where that is safe, and watches, at the client's rate."""

    def __init__(
        self,
        access: ServerAccess,
        *,
        qps: float = 0.0,
        burst: int = 0,
        timeout: float = 10.0,
        content_type: str = JSON,
        telemetry: ClientTelemetry | None = None,
    ) -> None:
        """`content_type`: what objects travel as; callers have JSON in any case."""
        self._media = MediaTypes(content_type)
        self._timeout = scaled(timeout)
        self._limit = TokenBucket(qps, burst)
        telemetry = telemetry or ClientTelemetry()
        self._observe, self._warned, self.plugin_metrics = telemetry.observe, telemetry.warned, telemetry.plugin_metrics
        self._transport = ApiTransport(access, USER_AGENT, telemetry.tracer, telemetry.plugin_metrics)

    @property
    def access(self) -> ServerAccess:
        return self._transport.access

    @property
    def host(self) -> str:
        """`host:port` of the server, as metrics label it."""
        return self._transport.host

    # -- start and stop --------------------------------------------------------------------------------------------
    async def reconnect(self, access: ServerAccess) -> None:
        """Use other credentials and new connections. Watches end; calls under way still complete."""
        await self._transport.reconnect(access)

    async def drop(self) -> None:
        """Close idle connections."""
        await self._transport.drop()

    async def close(self) -> None:
        await self._transport.close()

    # -- calls ----------------------------------------------------------------------------------------------------
    async def call(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: bytes = b"",
        content_type: str = JSON,
        timeout: float | None = None,
        most: int = MAX_OBJECT,
    ) -> ApiResponse:
        """Make a request. `path` has its parts percent-encoded; `timeout` is in seconds, including the wait for the
        rate limit; `most`: bytes of the answer.

        Raises an ApiError for anything but 2xx, and Invalid for a path with a name that the server would split.
        """
        seconds = self._timeout if timeout is None else scaled(timeout)
        if wrong := misread_name(path):
            raise Invalid(400, "BadRequest", wrong)
        url = self._transport.url(path, query or {})
        request = RequestAttempt(method, url, self._media.form(method, path, content_type, body))
        try:
            async with asyncio.timeout(seconds):
                request.permitted_after(await self._wait_for_rate_limit())
                try:
                    return await self._once_more(request, most)
                except ApiError as error:
                    if not self._media.is_refused(path, request.form, error):
                        raise
                request = RequestAttempt(method, url, self._media.form(method, path, content_type, body))
                return await self._once_more(request, most)
        except TimeoutError:
            await self.drop()
            raise Unreachable(0, "Unreachable", f"{method} {request.place}: no answer within {seconds:g} s") from None

    async def _wait_for_rate_limit(self) -> float:
        """Wait for the client's rate limit; return the seconds."""
        wait = self._limit.reserve(time.monotonic())
        try:
            await asyncio.sleep(wait)
        except asyncio.CancelledError:
            self._limit.give_back()
            raise
        return wait

    async def _once_more(self, request: RequestAttempt, most: int) -> ApiResponse:
        """Try at most twice: with new credentials after a 401, on a new connection after a dead one."""
        try:
            return await self._exchange(request, most)
        except Unauthorized:
            if not self._transport.credentials.refused(request.credentials):
                raise
        except (TooLarge, Unreadable):
            raise
        except Unreachable:
            await self.drop()
            if not request.may_repeat:
                raise
        return await self._exchange(request.second_attempt(), most)

    async def _exchange(self, request: RequestAttempt, most: int) -> ApiResponse:
        connections = await self._transport.connect()
        connections.call_starts()
        started_at, code, received = time.monotonic(), NO_ANSWER, 0
        try:
            async with self._transport.stream(connections.calls, request, self._timeout) as response:
                answer = ApiResponse(response.status, await bounded_body(response, most), headers_of(response))
                for text in warnings_of(response):
                    self._warned(text)
            code, received = str(answer.status), len(answer.body)
        except FAILURES as error:
            raise unreachable(request, error) from None
        finally:
            await connections.call_ends()
            self._observe(request.observation(code, time.monotonic() - started_at, received))
        answer = await self._media.as_json(answer, most)
        if not 200 <= answer.status < 300:
            raise error_of(answer.status, answer.body, answer.headers)
        return answer

    # -- watches --------------------------------------------------------------------------------------------------
    async def watch(
        self,
        path: str,
        query: Mapping[str, str],
        *,
        quiet: float = QUIET_SECONDS,
        opened: Callable[[], None] = lambda: None,
    ) -> AsyncGenerator[WatchEvent, None]:
        """The events of a collection, from the resourceVersion in `query`. Close it (contextlib.aclosing).

        Ends when the server ends it. Raises Gone if the version is too old, Unreachable after `quiet` seconds without
        data, or another ApiError.
        """
        url = self._transport.url(path, {**query, "watch": "true"})
        request = RequestAttempt("GET", url, self._media.form("GET", path))
        connections = await self._transport.connect()
        try:
            async with AsyncExitStack() as stack:
                response = await self._open_watch(stack, connections, request, quiet)
                if response.status != 200:
                    raise await self._watch_refused(path, request, response)
                request.opened = True
                opened()
                events_in = self._media.events(headers_of(response))
                async for chunk in response.aiter_stream():
                    for event in events_in(chunk):
                        yield event
        except (LineTooLong, FrameTooLong) as error:
            raise Unreachable(0, "Unreachable", f"watch {path}: {error}") from None
        except FAILURES as error:
            if connections.retired or (request.opened and isinstance(error, httpcore.ReadTimeout)):
                # the client ended it (new credentials, or silence); treated as if the server had
                return
            await self.drop()
            raise unreachable(request, error) from None

    async def _open_watch(
        self, stack: AsyncExitStack, connections: Connections, request: RequestAttempt, quiet: float
    ) -> httpcore.Response:
        """The head of the response, within a call's timeout."""
        started_at, code = time.monotonic(), NO_ANSWER
        try:
            async with asyncio.timeout(self._timeout):
                request.permitted_after(await self._wait_for_rate_limit())
                started_at = time.monotonic()
                response = await stack.enter_async_context(self._transport.stream(connections.watches, request, quiet))
            code = str(response.status)
        except TimeoutError:
            raise Unreachable(0, "Unreachable", f"watch: no answer within {self._timeout:g} s") from None
        finally:
            self._observe(request.observation(code, time.monotonic() - started_at, 0))
        return response

    async def _watch_refused(self, path: str, request: RequestAttempt, response: httpcore.Response) -> ApiError:
        async with asyncio.timeout(self._timeout):
            answer = ApiResponse(response.status, await bounded_body(response), headers_of(response))
            answer = await self._media.as_json(answer, MAX_OBJECT)
        error = error_of(answer.status, answer.body, answer.headers)
        self._media.is_refused(path, request.form, error)
        if isinstance(error, Unauthorized):
            self._transport.credentials.refused(request.credentials)
        return error


__all__ = ["USER_AGENT", "ApiClient", "ApiResponse", "RequestObservation", "WatchEvent"]
