"""Who calls: by client certificate, bearer token, or nobody that is known (anonymous)."""

from __future__ import annotations

from typing import Any, Final, cast

import msgspec
from tornado.httputil import HTTPServerRequest

from actors.http_servers.tls.client_certificate import BadCertificate, identity_on

from .reviews import ReviewFailed, Reviews, User

AUTHENTICATED: Final = "system:authenticated"
ANONYMOUS: Final = User("system:anonymous", ("system:unauthenticated",))
_BEARER: Final = "bearer "


class Authenticator:
    """Tries certificate, token, anonymous, in this order.

    A caller who shows a certificate that is not valid, or a token that is not good, is not anonymous: another good
    credential counts, else the caller is refused.
    """

    def __init__(self, *, tokens: Reviews | None = None, anonymous: bool = False) -> None:
        """`tokens`: None where tokens are not reviewed."""
        self._tokens, self._anonymous = tokens, anonymous

    async def identify(self, request: HTTPServerRequest) -> User | None:
        """None: the caller has no good credential, or it cannot be checked."""
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
            try:
                return _authenticated(await self._tokens.user_of(token))
            except ReviewFailed:
                return None
        return ANONYMOUS if anonymous else None


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
