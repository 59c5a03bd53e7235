"""Whether a request is let in: authentication, then authorization. What cannot be found out lets nobody in."""

from __future__ import annotations

from typing import Final, Protocol

from tornado.httputil import HTTPServerRequest

from .authentication import Authenticator
from .authorization import Authorizer, Refusal

UNAUTHORIZED: Final = Refusal(401, "Unauthorized")


class Access(Protocol):
    """Checked before anything else is done for a request."""

    health_is_open: bool
    """/healthz needs no credentials."""

    async def check(self, request: HTTPServerRequest) -> Refusal | None:
        """Why the caller is refused; None: it is not."""


class OpenAccess:
    """Everybody, for the read-only server."""

    health_is_open = True

    async def check(self, request: HTTPServerRequest) -> Refusal | None:
        return None


class CheckedAccess:
    """Those who are known, and have the permission."""

    def __init__(self, authenticator: Authenticator, authorizer: Authorizer, *, health_is_open: bool) -> None:
        self._authenticator, self._authorizer, self.health_is_open = authenticator, authorizer, health_is_open

    async def check(self, request: HTTPServerRequest) -> Refusal | None:
        user = await self._authenticator.identify(request)
        if user is None:
            return UNAUTHORIZED
        return await self._authorizer.refusal(user, request.method or "", request.path)
