"""Paths of requests as Go's ServeMux takes them. Pure."""

from __future__ import annotations

import re
from typing import Final

_ESCAPE: Final = re.compile("%([0-9A-Fa-f]{2})")
_PLAIN: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
"""Characters that mean the same escaped and unescaped (RFC 3986, section 2.3)."""


def of_target(target: str) -> str:
    """The path of a request's target without its query, which may be a whole URL, as for a proxy (RFC 9112, 3.2.2)."""
    scheme, separator, rest = target.partition("://")
    return "/" + rest.partition("/")[2] if separator and scheme.lower() in ("http", "https") else target


def unescaped(path: str) -> str:
    """The path without needless escapes: `/pods` for `/%70ods`. An escaped slash stays: it is not a separator."""
    return _ESCAPE.sub(_unescaped, path) if "%" in path else path


def _unescaped(escape: re.Match[str]) -> str:
    char = chr(int(escape[1], 16))
    return char if char in _PLAIN else escape[0]


def cleaned(path: str) -> str:
    """The path without empty segments, `.` and `..`; a slash at its end stays."""
    if "//" not in path and "/." not in path and path.startswith("/"):
        return path
    parts: list[str] = []
    segments = path.split("/")
    for segment in segments:
        if segment == "..":
            del parts[-1:]
        elif segment not in ("", "."):
            parts.append(segment)
    end = "/" if parts and segments[-1] == "" else ""
    return "/" + "/".join(parts) + end
