"""Who asks: a client certificate, a token of a service account, or one of the server's own list."""

from __future__ import annotations

import ssl
import time
from collections.abc import Mapping
from typing import Any

from .errors import StatusError
from .request import ANONYMOUS, Request, User
from .tokens import Tokens


class Users:
    def __init__(self, tokens: Tokens, anonymous: bool) -> None:
        self._tokens, self._anonymous = tokens, anonymous
        self.static = dict[str, User]()
        """Bearer tokens that are not a service account's: bootstrap tokens, users of tests."""
        self.revoked = set[str]()
        """Users whose certificates are not taken any more."""

    def of(self, request: Request, connection: ssl.SSLObject | None) -> User:
        """Raises StatusError 401."""
        if found := self._by_certificate(connection):
            return found
        kind, _, token = request.headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer":
            if (user := self.by_token(token.strip())) is not None:
                return user
            raise StatusError(401, "Unauthorized")
        if not self._anonymous:
            raise StatusError(401, "Unauthorized")
        return ANONYMOUS

    def by_token(self, token: str, audiences: tuple[str, ...] = ()) -> User | None:
        if token in self.static:
            return self.static[token]
        return self._tokens.user(token, audiences) if audiences else self._tokens.user(token)

    def _by_certificate(self, connection: ssl.SSLObject | None) -> User | None:
        """Raises StatusError 401 for one that is over."""
        shown = connection.getpeercert() if connection is not None else None
        if not shown:
            return None
        if ssl.cert_time_to_seconds(str(shown["notAfter"])) <= time.time():
            raise StatusError(401, "Unauthorized")
        name, pairs = common_name(connection), _subject(shown)
        if name in self.revoked:
            raise StatusError(401, "Unauthorized")
        groups = tuple(value for key, value in pairs if key == "organizationName")
        return User(name, (*groups, "system:authenticated"))


def common_name(connection: ssl.SSLObject | None) -> str:
    """Of the client certificate; empty if there is none."""
    shown = connection.getpeercert() if connection is not None else None
    return next((value for key, value in _subject(shown or {}) if key == "commonName"), "")


def _subject(shown: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [(str(part[0][0]), str(part[0][1])) for part in shown.get("subject", ()) if isinstance(part, tuple)]
