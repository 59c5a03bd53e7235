"""URLs as Go's net/url reads and writes them, so that a probe or hook requests the same as the kubelet's.

A path of a manifest may be anything. One that is no URL reference (a wrong % escape, a control character, a colon in
its first segment) is taken literally, `?` and `#` included. One that is a URL loses its scheme and host: `//x/y` asks
for `/y`.
"""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import unquote_to_bytes, urljoin

import msgspec

from actors.shared.kube.go_text import quoted
from actors.shared.kube.host_port import joined

_PLAIN: Final = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~")
_PATH: Final = _PLAIN | frozenset(b"$&+,/:;=@")
"""Characters that Go does not escape in a path."""
_ENCODED_PATH: Final = _PATH | frozenset(b"!'()*[]%")
"""Characters that Go accepts unescaped in an escaped path."""
_HOST: Final = _PLAIN | frozenset(b"!$&'()*+,;=:[]<>\"")
_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
_BAD_ESCAPE: Final = re.compile(r"%(?![0-9A-Fa-f]{2}).{0,2}", re.DOTALL)
_AUTHORITY: Final = re.compile(r"(\[[^\]]*\]|[^:]*)(?::([0-9]*))?")


class UrlError(ValueError):
    """The text is no URL; the text of the error is Go's."""


class Url(msgspec.Struct, frozen=True):
    """A URL, its path escaped so that it can be sent."""

    scheme: str
    """In lower case; empty in a reference."""
    host: str
    """With the port, as in the Host header; empty in a reference and for `http:x`."""
    path: str
    """Escaped, ASCII."""
    query: str | None = None
    fragment: str | None = None
    opaque: str = ""
    """`x` of `http:x`."""

    @property
    def hostname(self) -> str:
        """Without port and brackets."""
        found = _AUTHORITY.fullmatch(self.host)
        return found[1].removeprefix("[").removesuffix("]") if found else self.host

    @property
    def port(self) -> int:
        """The port in the host, else the scheme's."""
        found = _AUTHORITY.fullmatch(self.host)
        return int(found[2]) if found and found[2] else (443 if self.scheme == "https" else 80)

    @property
    def request_target(self) -> str:
        """The request target, for the first line of a request."""
        return (self.path or "/") + (f"?{self.query}" if self.query is not None else "")

    def __str__(self) -> str:
        begin = f"{self.scheme}:{self.opaque}" if self.opaque else f"{self.scheme}://{_escaped(self.host, _HOST)}"
        path = f"/{self.path}" if self.path and not self.path.startswith("/") and self.host else self.path
        query = f"?{self.query}" if self.query is not None else ""
        return f"{begin}{path}{query}" + (f"#{self.fragment}" if self.fragment else "")


def parse(text: str) -> Url:
    """Raises UrlError."""
    try:
        return _parse(text)
    except ValueError as problem:
        raise UrlError(f"parse {quoted(text)}: {problem}") from problem


def probe_url(scheme: str, host: str, port: int, path: str) -> Url:
    """The URL of an HTTPGetAction. Raises UrlError for a host that can be in no URL."""
    try:
        parts = _parse(path)
    except ValueError:
        parts = Url("", "", _escaped(path, _PATH))
    return parse(str(msgspec.structs.replace(parts, scheme=scheme.lower(), host=joined(host, port))))


def resolved(base: Url, location: str) -> Url:
    """The URL that a Location names. Raises UrlError."""
    parse(location)
    try:
        return parse(urljoin(str(base), location))
    except ValueError as problem:
        raise UrlError(str(problem)) from problem


def _parse(text: str) -> Url:
    """Raises ValueError with Go's words."""
    if _CONTROL.search(text):
        raise ValueError("net/url: invalid control character in URL")
    rest, hash_sign, fragment = text.partition("#")
    _check_escapes(fragment)
    scheme, rest = _split_scheme(rest)
    rest, mark, query = rest.partition("?")
    tail = (query if mark else None, fragment if hash_sign else None)
    if not rest.startswith("/"):
        if scheme:
            return Url(scheme, "", "", *tail, opaque=rest)
        if ":" in rest.partition("/")[0]:
            raise ValueError("first path segment in URL cannot contain colon")
    host = ""
    if rest.startswith("//") and (scheme or not rest.startswith("///")):
        authority, slash, path = rest[2:].partition("/")
        host, rest = _host(authority.rpartition("@")[2]), slash + path
    return Url(scheme, host, _escaped_path(rest), *tail)


def _split_scheme(text: str) -> tuple[str, str]:
    if text.startswith(":"):
        raise ValueError("missing protocol scheme")
    found = _SCHEME.match(text)
    return (found[1].lower(), text[found.end() :]) if found else ("", text)


def _host(text: str) -> str:
    """A host may contain % escapes only of non-ASCII characters and of % itself."""
    _check_escapes(text)
    for escape in re.findall("%..", text):
        if escape < "%8" and escape != "%25":
            raise ValueError(f'invalid URL escape "{escape}"')
    wrong = next((char for char in text if char < "\x80" and char != "%" and ord(char) not in _HOST), None)
    if wrong is not None:
        raise ValueError(f"invalid character {quoted(wrong)} in host name")
    found = _AUTHORITY.fullmatch(text)
    if found is None:
        port = text[text.rfind(":") :]
        raise ValueError("missing ']' in host" if text.startswith("[") else f"invalid port {quoted(port)} after host")
    return _text(unquote_to_bytes(_bytes(text)))


def _check_escapes(text: str) -> None:
    found = _BAD_ESCAPE.search(text)
    if found:
        raise ValueError(f"invalid URL escape {quoted(found[0])}")


def _escaped_path(text: str) -> str:
    """The path unchanged if it can be sent, otherwise escaped."""
    _check_escapes(text)
    if _ENCODED_PATH.issuperset(_bytes(text)):
        return text
    return _escaped(_text(unquote_to_bytes(_bytes(text))), _PATH)


def _escaped(text: str, plain: frozenset[int]) -> str:
    return "".join(chr(byte) if byte in plain else f"%{byte:02X}" for byte in _bytes(text))


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _text(content: bytes) -> str:
    return content.decode("utf-8", "surrogateescape")
