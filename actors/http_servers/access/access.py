"""Access to a server: authentication, then authorization. A check that fails denies access."""

from __future__ import annotations

from typing import Final, Protocol

from tornado.httputil import HTTPServerRequest

from .authentication import ANONYMOUS, Authenticator
from .authorization import Authorizer, Denial
from .reviews import UserInfo

UNAUTHORIZED: Final = Denial(401, "Unauthorized")


class AccessCheck(Protocol):
    """Checks a request before it is handled."""

    health_is_open: bool
    """/healthz needs no credentials."""

    async def check(self, request: HTTPServerRequest) -> Denial | UserInfo:
        """The denial of access, or the user who gets it."""


class OpenAccess:
    """Access for everyone, on the read-only server."""

    health_is_open = True

    async def check(self, request: HTTPServerRequest) -> UserInfo:
        return ANONYMOUS


class CheckedAccess:
    """Access for authenticated users with the permission."""

    def __init__(self, authenticator: Authenticator, authorizer: Authorizer, *, health_is_open: bool) -> None:
        self._authenticator, self._authorizer, self.health_is_open = authenticator, authorizer, health_is_open

    async def check(self, request: HTTPServerRequest) -> Denial | UserInfo:
        user = await self._authenticator.identify(request)
        if user is None:
            return UNAUTHORIZED
        return await self._authorizer.denial(user, request.method or "", request.path) or user
