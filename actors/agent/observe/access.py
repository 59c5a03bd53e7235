"""Access to the page: for the browser that opened the printed link, on this machine or through a tunnel. Pure.

A port on loopback can be reached by every user of the machine, and by any web page that a browser on it shows. So the
link has a token that opens one session only, the session is a cookie that scripts and other sites do not get, and the
Host of each request is a name of loopback (a page elsewhere whose name points to 127.0.0.1 has another). An order also
needs the page's own Origin.

Browsers send a cookie to each port of a host, so another user's server on loopback may get it. Data and orders need the
session's key as well, which only scripts of this origin have: the link leads to an address with it in the fragment, and
browsers send a fragment to no server.
"""

from __future__ import annotations

import secrets
from hmac import compare_digest
from typing import Final
from urllib.parse import urlsplit

LOOPBACK_NAMES: Final = frozenset({"127.0.0.1", "localhost", "::1"})
_BYTES: Final = 24


class SessionAccess:
    """The token that is still valid, and the session that it has opened, with its key."""

    def __init__(self) -> None:
        self.token, self.key = secrets.token_urlsafe(_BYTES), secrets.token_urlsafe(_BYTES)
        self._session = ""

    def open(self, token: str) -> str:
        """The session for the token; '' if it is wrong or has been used."""
        if self._session or not compare_digest(token.encode(), self.token.encode()):
            return ""
        self._session = secrets.token_urlsafe(_BYTES)
        return self._session

    def is_spent(self, token: str) -> bool:
        """Whether this is the token, and it has opened its session."""
        return bool(self._session) and compare_digest(token.encode(), self.token.encode())

    def has_key(self, key: str) -> bool:
        """Whether it is the key of the session that was opened."""
        return bool(self._session) and compare_digest(key.encode(), self.key.encode())

    def admits(self, session: str) -> bool:
        """Whether it is the session that was opened."""
        return bool(self._session) and compare_digest(session.encode(), self._session.encode())


def host_allowed(host: str) -> bool:
    """Whether the Host header (name, and a port if there is one) names loopback."""
    return _name(f"//{host}") in LOOPBACK_NAMES


def origin_allowed(origin: str, host: str) -> bool:
    """Whether the Origin header of an order is the page's own. The port may be a tunnel's, but is the same in both."""
    return bool(origin) and origin == f"http://{host}" and host_allowed(host)


def _name(address: str) -> str:
    try:
        return urlsplit(address).hostname or ""
    except ValueError:
        return ""
