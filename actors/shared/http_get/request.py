"""The request of a probe or hook, as Go's HTTP client writes it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from .errors import ExchangeError
from .url import Url

Headers = list[tuple[str, str]]
"""Name and value, in order; names may repeat."""
_NAME: Final = re.compile("[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_HOST: Final = re.compile(r"[0-9A-Za-z!$%&'()*+,.:;=_~\[\]-]*")
_ZONE: Final = re.compile(r"%[^\]]*\]")
_CONTROL: Final = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_OWN: Final = frozenset({"Host", "User-Agent", "Content-Length", "Transfer-Encoding", "Trailer"})
"""Headers that the client itself writes, or omits."""


def request(url: Url, headers: Headers, user_agent: str) -> bytes:
    """The request. A Host, User-Agent or Accept of the manifest overrides the default; an empty one removes it. The
    headers are sorted by name, the values of one in the manifest's order. Raises ExchangeError for a header that
    cannot be sent."""
    by_name = collected(headers)
    by_name.setdefault("User-Agent", [user_agent])
    if not by_name.setdefault("Accept", ["*/*"])[0]:
        del by_name["Accept"]
    connection = by_name.get("Connection", [])
    if not _has_token(connection, "close") and not (_has_token(connection, "upgrade") and "Upgrade" in by_name):
        connection = [*connection, "close"]
    by_name["Connection"] = connection
    agent = by_name["User-Agent"][0]
    lines = [("Host", _host(by_name.get("Host", [""])[0] or url.host)), *([("User-Agent", agent)] if agent else [])]
    lines += [(name, value) for name in sorted(by_name.keys() - _OWN) for value in by_name[name]]
    head = "".join(f"{name}: {value.strip()}\r\n" for name, value in lines)
    return f"GET {url.request_target} HTTP/1.1\r\n{head}\r\n".encode("utf-8", "surrogateescape")


def collected(headers: Headers) -> dict[str, list[str]]:
    """The values by name, each name as Go writes it: `X-Name`. Raises ExchangeError."""
    found: dict[str, list[str]] = {}
    for name, value in headers:
        if not _NAME.fullmatch(name):
            raise ExchangeError(f'net/http: invalid header field name "{name}"')
        if _CONTROL.search(value):
            raise ExchangeError(f'net/http: invalid header field value for "{_canonical(name)}"')
        found.setdefault(_canonical(name), []).append(value)
    return found


def without(headers: Headers, name: str) -> Headers:
    """The headers except those with this name. `name`: in lower case."""
    return [header for header in headers if header[0].lower() != name]


def _host(text: str) -> str:
    """The Host header for this text, without the zone of an address; empty if it cannot be a host."""
    return _ZONE.sub("]", text) if _HOST.fullmatch(text) else ""


def _canonical(name: str) -> str:
    return "-".join(word[:1].upper() + word[1:].lower() for word in name.split("-"))


def _has_token(values: Iterable[str], token: str) -> bool:
    return any(part.strip().lower() == token for value in values for part in value.split(","))
