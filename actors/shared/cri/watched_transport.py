"""A transport whose calls are known to the CallsInProgress of their task."""

from __future__ import annotations

from collections.abc import AsyncIterator

from .calls_in_progress import watched
from .methods import Method, Request, Response
from .transport import Transport


class WatchedTransport:
    """Forwards calls to another transport."""

    def __init__(self, inner: Transport) -> None:
        self._inner = inner

    async def call(self, method: Method[Request, Response], request: Request, timeout: float | None) -> Response:
        with watched(method.name):
            return await self._inner.call(method, request, timeout)

    def stream(self, method: Method[Request, Response], request: Request) -> AsyncIterator[Response]:
        return self._inner.stream(method, request)

    async def close(self) -> None:
        await self._inner.close()
