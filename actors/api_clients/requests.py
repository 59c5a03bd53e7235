"""What the parts of the clients that write to the API server need: requests, time, pauses. Fakes of it are in tests."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol

Json = dict[str, Any]
Pause = Callable[[float], Awaitable[None]]
"""Waits so many seconds."""


class Reply(Protocol):
    @property
    def body(self) -> bytes: ...


class Caller(Protocol):
    """One server with our credentials; see actors/shared/api/client.py."""

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
        """Close connections that may be dead."""
