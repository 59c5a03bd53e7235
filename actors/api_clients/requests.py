"""The protocol of what sends requests, for the parts of the clients that are tested without a server."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol

Json = dict[str, Any]
Pause = Callable[[float], Awaitable[None]]
"""Waits for that many seconds."""


class Reply(Protocol):
    @property
    def body(self) -> bytes: ...


class Caller(Protocol):
    """A server with our credentials; see actors/shared/api/client.py."""

    async def call(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: bytes = b"",
        content_type: str = "application/json",
    ) -> Reply:
        """2xx. Raises ApiError; NoCredentials while there are none."""

    async def drop(self) -> None:
        """Close connections that may be broken."""
