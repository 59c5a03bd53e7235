"""Authenticates callers: by client certificate, by bearer token, or as anonymous."""

from __future__ import annotations

from typing import Any, Final, cast

import msgspec
from tornado.httputil import HTTPServerRequest

from actors.http_servers.tls.client_identity import BadClientCertificate, identity_on

from .reviews import ReviewFailed, Reviews, UserInfo

AUTHENTICATED: Final = "system:authenticated"
ANONYMOUS: Final = UserInfo("system:anonymous", ("system:unauthenticated",))
_BEARER: Final = "bearer "


class Authenticator:
    """Tries certificate, token, anonymous, in this order.

    A caller with an invalid certificate or token does not become anonymous: without another, valid credential it is
    denied.
    """

    def __init__(self, *, tokens: Reviews | None = None, anonymous: bool = False) -> None:
        """`tokens`: None if bearer tokens are not reviewed."""
        self._tokens, self._anonymous = tokens, anonymous

    async def identify(self, request: HTTPServerRequest) -> UserInfo | None:
        """The user. None without a valid credential, or if it cannot be checked, because the client may be gone."""
        if _is_closed(request):
            return None
        anonymous = self._anonymous
        try:
            found = _by_certificate(request)
        except BadClientCertificate:
            found, anonymous = None, False
        if found is not None:
            return found
        token = _token(request)
        if token and self._tokens is not None:
            # an invalid token is denied even where anonymous callers are allowed
            try:
                return _with_authenticated_group(await self._tokens.user_of(token))
            except ReviewFailed:
                return None
        return ANONYMOUS if anonymous else None


def _is_closed(request: HTTPServerRequest) -> bool:
    """Whether the connection was closed before the request was handled: it has no socket then."""
    return request.connection is not None and cast(Any, request.connection).stream.socket is None


def _by_certificate(request: HTTPServerRequest) -> UserInfo | None:
    """Raises BadClientCertificate."""
    if request.connection is None or request.protocol != "https":
        return None
    found = identity_on(cast(Any, request.connection).stream.socket)
    return _with_authenticated_group(UserInfo(found[0], found[1])) if found is not None else None


def _with_authenticated_group(user: UserInfo | None) -> UserInfo | None:
    if user is None or AUTHENTICATED in user.groups:
        return user
    return msgspec.structs.replace(user, groups=(*user.groups, AUTHENTICATED))


def _token(request: HTTPServerRequest) -> str:
    header = request.headers.get("Authorization", "")
    return header[len(_BEARER) :].strip() if header[: len(_BEARER)].lower() == _BEARER else ""
