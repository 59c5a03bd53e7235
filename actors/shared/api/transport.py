"""Sends requests to an API server: credentials, connections that match them, headers, and a span for each request."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final
from urllib.parse import quote, urlencode, urlsplit

import httpcore

from actors.shared.tracing import tracer as tracing
from actors.shared.tracing.span import Kind, Span
from actors.shared.tracing.tracer import Tracer
from supervision.time_scale import scaled

from .access import ServerAccess
from .connections import Connections
from .credentials import ClientKeyPair, Credentials
from .exchange import RequestAttempt
from .plugin_metrics import PluginMetrics

CONNECT_SECONDS: Final = 10.0
STATUS_CODE: Final = "http.response.status_code"
FAILED: Final = 400
"""Statuses from here on mark the span as failed."""
FAILURES: Final = (
    httpcore.NetworkError,
    httpcore.TimeoutException,
    httpcore.ProtocolError,
    httpcore.ProxyError,
    OSError,
)
"""The exceptions of a request without an answer."""


class ApiTransport:
    """The current credentials for one server, and the connections that use them."""

    def __init__(self, access: ServerAccess, user_agent: str, tracer: Tracer, plugin_metrics: PluginMetrics) -> None:
        self._agent, self._tracer, self._plugin_metrics = user_agent, tracer, plugin_metrics
        self._connections: Connections | None = None
        self._connecting = asyncio.Lock()
        self._use(access)

    def _use(self, access: ServerAccess) -> None:
        self.access, self.credentials = access, Credentials(access, plugin_metrics=self._plugin_metrics)
        self._base = urlsplit(access.server)

    @property
    def host(self) -> str:
        """`host:port` of the server, as metrics label it."""
        return self._base.netloc.rpartition("@")[2]

    # -- connections ----------------------------------------------------------------------------------------------
    async def reconnect(self, access: ServerAccess) -> None:
        """Use other credentials and new connections. Watches end; calls under way still complete."""
        self._use(access)
        old, self._connections = self._connections, None
        if old is not None:
            await old.retire()

    async def drop(self) -> None:
        """Close idle connections."""
        if self._connections is not None:
            await self._connections.drop_idle()

    async def close(self) -> None:
        old, self._connections = self._connections, None
        if old is not None:
            await old.close()

    async def connect(self) -> Connections:
        """The connections for the current certificate. Raises NoCredentials."""
        async with self._connecting:
            certificate = await self._certificate()
            old = self._connections
            if old is not None and old.certificate == certificate:
                return old
            self._connections = Connections(self.access, certificate)
            if old is not None:
                await old.retire()
            return self._connections

    async def _certificate(self) -> ClientKeyPair:
        """The current certificate. Loading may be slow (a plugin); if the credentials change meanwhile, it loads
        again."""
        while True:
            credentials = self.credentials
            certificate = await credentials.certificate()
            if credentials is self.credentials:
                return certificate

    # -- requests -------------------------------------------------------------------------------------------------
    def url(self, path: str, query: Mapping[str, str]) -> str:
        """`path` has its parts percent-encoded."""
        suffix = f"?{urlencode(query, quote_via=quote)}" if query else ""
        return f"{self._base.scheme}://{self.host}{self._base.path}{path}{suffix}"

    @asynccontextmanager
    async def stream(
        self, pool: httpcore.AsyncConnectionPool, request: RequestAttempt, read_seconds: float
    ) -> AsyncIterator[httpcore.Response]:
        """Send the request on a connection of the pool; the block has the head of the response. Raises NoCredentials or
        one of FAILURES. `read_seconds`: the longest silence of the server."""
        request.sent_with(await self.credentials.headers())
        own = [("Host", self.host), ("User-Agent", self._agent)]
        connect = scaled(CONNECT_SECONDS)
        limits = {"connect": connect, "read": read_seconds, "write": connect, "pool": connect}
        extensions: dict[str, Any] = {"timeout": limits, "trace": request.trace}
        if self.access.server_name:
            extensions["sni_hostname"] = self.access.server_name
        span = self._span(request)
        try:
            async with pool.stream(
                request.method,
                request.url,
                headers=[*own, *request.headers, *request.credentials, *tracing.headers_of(span)],
                content=request.body or None,
                extensions=extensions,
            ) as response:
                span.set(STATUS_CODE, response.status)
                if response.status >= FAILED:
                    span.fail(f"HTTP {response.status}")
                yield response
        except FAILURES as error:
            span.raised(error)
            raise
        except asyncio.CancelledError:
            if STATUS_CODE not in span.attributes:  # with a status, it is the end of a watch
                span.fail("given up without an answer")
            raise
        finally:
            span.end()

    def _span(self, request: RequestAttempt) -> Span:
        """The span of one attempt; of a watch, until its end."""
        name, path = f"HTTP {request.method}", urlsplit(request.url).path
        about = {"http.request.method": request.method, "server.address": self.host, "url.path": path}
        return self._tracer.start(name, about, kind=Kind.CLIENT)
