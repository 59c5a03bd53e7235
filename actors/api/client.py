"""Requests to an API server and watches of it.

    client = ApiClient(kubeconfig.load(path))
    answer = await client.call("GET", "/api/v1/nodes/n1")
    async for event in client.watch("/api/v1/pods", {"resourceVersion": "7"}): ...

A request whose connection turns out dead is sent once more on a fresh one, if it was never written whole or does not
change anything; nothing else is repeated here.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, Final
from urllib.parse import quote, urlencode, urlsplit

import httpcore
import msgspec

from .access import Access
from .connections import Connections
from .credentials import Certificate, Credentials
from .errors import ApiError, Unauthorized, Unreachable, error_of
from .limit import TokenBucket
from .lines import Lines, LineTooLong

USER_AGENT: Final = "kubelet/v1.36.2 (linux) troupelet"
MAX_ANSWER: Final = 64 << 20
QUIET_SECONDS: Final = 150.0
"""A watch on which nothing came for so long (there is a bookmark a minute) is broken off."""
CONNECT_SECONDS: Final = 10.0
_FAILURES: Final = (
    httpcore.NetworkError,
    httpcore.TimeoutException,
    httpcore.ProtocolError,
    httpcore.ProxyError,
    OSError,
)


class Answer(msgspec.Struct, frozen=True):
    """2xx."""

    status: int
    body: bytes
    headers: dict[str, str]
    """Names in lower case."""


class Event(msgspec.Struct, frozen=True):
    """One event of a watch: ADDED, MODIFIED, DELETED, BOOKMARK."""

    type: str
    object: bytes
    """JSON."""


class _Line(msgspec.Struct):
    type: str
    object: msgspec.Raw = msgspec.Raw(b"{}")


_line = msgspec.json.Decoder(_Line)


class Observation(msgspec.Struct, frozen=True):
    """One request, for metrics."""

    method: str
    code: str
    """HTTP status, `<error>` for no answer."""
    seconds: float
    """Until the answer was read; of a watch until it began."""
    waited: float = 0.0
    """Seconds for our own limit, before."""
    sent: int = 0
    received: int = 0
    """Bytes of the body; 0 for a watch."""
    again: bool = False
    """It was a second attempt."""


Observer = Callable[[Observation], None]
NO_ANSWER: Final = "<error>"


class ApiClient:
    """One server, one set of credentials, own connections."""

    def __init__(
        self, access: Access, *, qps: float = 0.0, burst: int = 0, timeout: float = 10.0, user_agent: str = USER_AGENT
    ) -> None:
        self._timeout, self._agent = timeout, user_agent
        self._limit = TokenBucket(qps, burst)
        self._connections: Connections | None = None
        self._connecting = asyncio.Lock()
        self._closed = False
        self.observe: Observer = lambda observation: None
        self._use(access)

    def _use(self, access: Access) -> None:
        self.access, self._credentials = access, Credentials(access)
        self._base = urlsplit(access.server)

    @property
    def host(self) -> str:
        """`host:port` of the server, as metrics label it."""
        return self._base.netloc.rpartition("@")[2]

    # -- life -----------------------------------------------------------------------------------------------------
    async def renew(self, access: Access) -> None:
        """Go on with other credentials, on new connections: watches end, calls under way are answered still."""
        self._use(access)
        old, self._connections = self._connections, None
        if old is not None:
            await old.retire()

    async def drop(self) -> None:
        """Close connections that are not in use."""
        if self._connections is not None:
            await self._connections.drop_idle()

    async def close(self) -> None:
        self._closed = True
        old, self._connections = self._connections, None
        if old is not None:
            await old.close()

    async def _connected(self) -> Connections:
        """The connections for the certificate as it is now. Raises NoCredentials."""
        async with self._connecting:
            certificate = await self._certificate()
            old = self._connections
            if old is not None and old.certificate == certificate:
                return old
            self._connections = Connections(self.access, certificate)
            if old is not None:
                await old.retire()
            return self._connections

    async def _certificate(self) -> Certificate:
        """Of the credentials that count when it has come: a plugin takes its time."""
        while True:
            credentials = self._credentials
            certificate = await credentials.certificate()
            if credentials is self._credentials:
                return certificate

    # -- calls ----------------------------------------------------------------------------------------------------
    async def call(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: bytes = b"",
        content_type: str = "application/json",
        timeout: float | None = None,
    ) -> Answer:
        """One request. `path` has its parts percent-encoded; `timeout` is in seconds, waiting for our limit included.

        Raises an ApiError for anything but 2xx.
        """
        seconds = self._timeout if timeout is None else timeout
        headers = [("Accept", "application/json")]
        if body:
            headers += [("Content-Type", content_type), ("Content-Length", str(len(body)))]
        request = _Request(method, self._target(path, query or {}), headers, body)
        try:
            async with asyncio.timeout(seconds):
                request.waited = await self._turn()
                return await self._once_more(request)
        except TimeoutError:
            await self.drop()
            raise Unreachable(0, "Unreachable", f"{method} {path}: no answer within {seconds:g} s") from None

    async def _turn(self) -> float:
        """Wait for our own limit; how long."""
        wait = self._limit.reserve(time.monotonic())
        try:
            await asyncio.sleep(wait)
        except asyncio.CancelledError:
            self._limit.give_back()
            raise
        return wait

    async def _once_more(self, request: _Request) -> Answer:
        """At most twice: with fresh credentials after 401, on a fresh connection after a dead one."""
        try:
            return await self._exchange(request)
        except Unauthorized:
            if not self._credentials.refused():
                raise
        except Unreachable:
            await self.drop()
            if not request.may_repeat:
                raise
        return await self._exchange(request.again())

    async def _exchange(self, request: _Request) -> Answer:
        connections = await self._connected()
        connections.in_flight += 1
        began, code, received = time.monotonic(), NO_ANSWER, 0
        try:
            async with self._stream(connections.calls, request, self._timeout) as response:
                answer = Answer(response.status, await _bounded_body(response), _headers(response))
            code, received = str(answer.status), len(answer.body)
        except _FAILURES as error:
            raise _unreachable(request, error) from None
        finally:
            connections.in_flight -= 1
            await connections.closed_if_done()
            self.observe(request.observation(code, time.monotonic() - began, received))
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
    ) -> AsyncGenerator[Event, None]:
        """The events of a collection; `query` says from which resourceVersion. Close it (contextlib.aclosing).

        Ends when the server ends it. Raises Gone when the version is too old, else the ApiError that broke it off;
        after `quiet` seconds without a byte that is Unreachable.
        """
        request = _Request("GET", self._target(path, {**query, "watch": "true"}), [("Accept", "application/json")], b"")
        connections = await self._connected()
        try:
            async with AsyncExitStack() as stack:
                response = await self._begin_watch(stack, connections, request, quiet)
                if response.status != 200:
                    raise await self._watch_refused(response)
                opened()
                lines = Lines()
                async for chunk in response.aiter_stream():
                    for line in lines.feed(chunk):
                        yield _event(line)
        except LineTooLong as error:
            raise Unreachable(0, "Unreachable", f"watch {path}: {error}") from None
        except _FAILURES as error:
            if connections.retired:
                # ended by us, for other credentials: as if the server had ended it
                return
            await self.drop()
            raise _unreachable(request, error) from None

    async def _begin_watch(
        self, stack: AsyncExitStack, connections: Connections, request: _Request, quiet: float
    ) -> httpcore.Response:
        """The head of the answer, within the time of a call."""
        began, code = time.monotonic(), NO_ANSWER
        try:
            async with asyncio.timeout(self._timeout):
                request.waited = await self._turn()
                began = time.monotonic()
                response = await stack.enter_async_context(self._stream(connections.watches, request, quiet))
            code = str(response.status)
        except TimeoutError:
            raise Unreachable(0, "Unreachable", f"watch: no answer within {self._timeout:g} s") from None
        finally:
            self.observe(request.observation(code, time.monotonic() - began, 0))
        return response

    async def _watch_refused(self, response: httpcore.Response) -> ApiError:
        async with asyncio.timeout(self._timeout):
            error = error_of(response.status, await _bounded_body(response), _headers(response))
        if isinstance(error, Unauthorized):
            self._credentials.refused()
        return error

    # -- one exchange ---------------------------------------------------------------------------------------------
    def _target(self, path: str, query: Mapping[str, str]) -> str:
        asked = f"?{urlencode(query, quote_via=quote)}" if query else ""
        return f"{self._base.scheme}://{self.host}{self._base.path}{path}{asked}"

    @asynccontextmanager
    async def _stream(
        self, pool: httpcore.AsyncConnectionPool, request: _Request, read_seconds: float
    ) -> AsyncIterator[httpcore.Response]:
        credentials = await self._credentials.headers()
        own = [("Host", self.host), ("User-Agent", self._agent)]
        limits = {"connect": CONNECT_SECONDS, "read": read_seconds, "write": CONNECT_SECONDS, "pool": CONNECT_SECONDS}
        extensions: dict[str, Any] = {"timeout": limits, "trace": request.trace}
        if self.access.server_name:
            extensions["sni_hostname"] = self.access.server_name
        async with pool.stream(
            request.method,
            request.url,
            headers=own + request.headers + credentials,
            content=request.body or None,
            extensions=extensions,
        ) as response:
            yield response


class _Request:
    """One attempt at a request, and how far it came."""

    def __init__(self, method: str, url: str, headers: list[tuple[str, str]], body: bytes) -> None:
        self.method, self.url, self.headers, self.body = method, url, headers, body
        self.written = self.second = False
        self.waited = 0.0

    async def trace(self, event: str, info: dict[str, Any]) -> None:
        if event == "http11.send_request_body.complete":
            self.written = True

    @property
    def may_repeat(self) -> bool:
        """The server cannot have acted upon it, or it changes nothing."""
        return self.method in ("GET", "HEAD") or not self.written

    def again(self) -> _Request:
        made = _Request(self.method, self.url, self.headers, self.body)
        made.second = True
        return made

    def observation(self, code: str, seconds: float, received: int) -> Observation:
        return Observation(self.method, code, seconds, self.waited, len(self.body), received, self.second)


async def _bounded_body(response: httpcore.Response) -> bytes:
    parts, length = [], 0
    async for chunk in response.aiter_stream():
        length += len(chunk)
        if length > MAX_ANSWER:
            raise httpcore.ReadError(f"an answer of more than {MAX_ANSWER >> 20} MiB")
        parts.append(chunk)
    return b"".join(parts)


def _headers(response: httpcore.Response) -> dict[str, str]:
    return {name.decode("ascii").lower(): value.decode("latin-1") for name, value in response.headers}


def _event(line: bytes) -> Event:
    """Raises the ApiError of an ERROR event, Unreachable for what is no event."""
    try:
        read = _line.decode(line)
    except (msgspec.DecodeError, msgspec.ValidationError, RecursionError):
        raise Unreachable(0, "Unreachable", "what the watch gave is no event") from None
    if read.type == "ERROR":
        raise error_of(0, bytes(read.object), {})
    return Event(read.type, bytes(read.object))


def _unreachable(request: _Request, error: Exception) -> Unreachable:
    path = urlsplit(request.url).path
    text = str(error) or type(error).__name__
    return Unreachable(0, "Unreachable", f"{request.method} {path}: {text}")
