"""Decide who gets in: one gate for each kind of server. A gate that cannot find out lets nobody in."""

from __future__ import annotations

from typing import Any, Final, Protocol, cast

import msgspec
from tornado.httputil import HTTPServerRequest

from actors.http_servers.tls.context import BadCertificate, identity_on

from .attributes import subresources, verb
from .reviews import ReviewFailed, Reviews, User

AUTHENTICATED: Final = "system:authenticated"
ANONYMOUS: Final = User("system:anonymous", ("system:unauthenticated",))
_BEARER: Final = "bearer "


class Refusal(msgspec.Struct, frozen=True):
    """HTTP status and text."""

    status: int
    text: str


UNAUTHORIZED: Final = Refusal(401, "Unauthorized")


class Gate(Protocol):
    """Asked before anything else is done for a request."""

    guards_healthz: bool
    """Whether /healthz, too, is only for who may."""

    async def check(self, request: HTTPServerRequest) -> Refusal | None:
        """Why the caller does not get in; None: it does."""


class Anybody:
    """For the read-only server, which has only what is harmless."""

    guards_healthz = False

    async def check(self, request: HTTPServerRequest) -> Refusal | None:
        return None


class Anonymous:
    """Lets in everybody but who shows a certificate that does not pass: where anonymous access is configured."""

    guards_healthz = False

    async def check(self, request: HTTPServerRequest) -> Refusal | None:
        try:
            _by_certificate(request)
        except BadCertificate:
            return UNAUTHORIZED
        return None


class ByCertificate:
    """Lets in who showed a client certificate of the CA: standing alone, there is nobody else to ask."""

    guards_healthz = False

    async def check(self, request: HTTPServerRequest) -> Refusal | None:
        try:
            return None if _by_certificate(request) is not None else UNAUTHORIZED
        except BadCertificate:
            return UNAUTHORIZED


class ByApiServer:
    """Certificate, token, anonymous, in this order; then what the API server allows.

    Who shows a certificate that does not pass, or a token that is not good, is not anonymous: another good one counts,
    else nobody gets in.
    """

    guards_healthz = True

    def __init__(self, node: str, *, tokens: Reviews | None, permissions: Reviews | None, anonymous: bool) -> None:
        """`tokens`, `permissions`: None where no such question is configured."""
        self._node, self._tokens, self._permissions, self._anonymous = node, tokens, permissions, anonymous

    async def check(self, request: HTTPServerRequest) -> Refusal | None:
        try:
            user = await self._identify(request)
        except ReviewFailed:
            return UNAUTHORIZED
        if user is None:
            return UNAUTHORIZED
        return await self._authorize(user, verb(request.method or ""), subresources(request.path))

    async def _identify(self, request: HTTPServerRequest) -> User | None:
        anonymous = self._anonymous
        try:
            found = _by_certificate(request)
        except BadCertificate:
            found, anonymous = None, False
        if found is not None:
            return found
        token = _token(request)
        if token and self._tokens is not None:
            # a token that is not good is refused, whatever anonymous callers may do
            return _authenticated(await self._tokens.user_of(token))
        return ANONYMOUS if anonymous else None

    async def _authorize(self, user: User, wanted: str, over: tuple[str, ...]) -> Refusal | None:
        if self._permissions is None:
            return None
        what = f"(user={user.name}, verb={wanted}, resource=nodes, subresource(s)=[{' '.join(over)}])"
        try:
            for subresource in over:
                if await self._permissions.may(user, wanted, subresource, self._node):
                    return None
        except ReviewFailed:
            return Refusal(500, f"Authorization error {what}")
        return Refusal(403, f"Forbidden {what}")


def _by_certificate(request: HTTPServerRequest) -> User | None:
    """Raises BadCertificate."""
    if request.connection is None or request.protocol != "https":
        return None
    found = identity_on(cast(Any, request.connection).stream.socket)
    return _authenticated(User(found[0], found[1])) if found is not None else None


def _authenticated(user: User | None) -> User | None:
    if user is None or AUTHENTICATED in user.groups:
        return user
    return msgspec.structs.replace(user, groups=(*user.groups, AUTHENTICATED))


def _token(request: HTTPServerRequest) -> str:
    header = request.headers.get("Authorization", "")
    return header[len(_BEARER) :].strip() if header[: len(_BEARER)].lower() == _BEARER else ""
