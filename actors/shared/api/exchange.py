"""A request and its response: progress, measurements and answer; bounded, with this package's errors."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

import httpcore
import msgspec

from supervision.errors import UNREADABLE

from .errors import MAX_TEXT, TooLarge, Unreachable, error_of

MAX_ANSWER: Final = 64 << 20
"""Bytes of a list."""
MAX_OBJECT: Final = 8 << 20
"""Bytes of any other answer, as MAX_LINE of a watch: several are under way at once, and each is copied to an actor."""
_WARNING: Final = re.compile(r'299 \S+ "((?:[^"\\]|\\.)*)"')
_ESCAPED: Final = re.compile(r"\\(.)")


class ApiResponse(msgspec.Struct, frozen=True):
    """2xx."""

    status: int
    body: bytes
    headers: dict[str, str]
    """Names are lower case."""


class WatchEvent(msgspec.Struct, frozen=True):
    """An event of a watch: ADDED, MODIFIED, DELETED, BOOKMARK."""

    type: str
    object: bytes
    """JSON."""


class _Line(msgspec.Struct):
    type: str
    object: msgspec.Raw = msgspec.Raw(b"{}")


_line = msgspec.json.Decoder(_Line)


class RequestObservation(msgspec.Struct, frozen=True):
    """A request, for metrics."""

    method: str
    code: str
    """HTTP status, `<error>` without an answer."""
    seconds: float
    """Until the answer was read; for a watch, until it started."""
    waited: float = 0.0
    """Seconds that the client's rate limit delayed it before."""
    sent: int = 0
    received: int = 0
    """Bytes of the body; 0 for a watch."""
    again: bool = False
    """It was the second attempt."""


Observer = Callable[[RequestObservation], None]
NO_ANSWER: Final = "<error>"


class RequestForm(NamedTuple):
    """What a request travels as."""

    accept: str
    content_type: str = ""
    """Of the body."""
    body: bytes = b""


class RequestAttempt:
    """An attempt at a request, and its progress."""

    def __init__(self, method: str, url: str, form: RequestForm) -> None:
        self.method, self.url, self.form, self.body = method, url, form, form.body
        self.written = self.second = self.opened = False
        self.waited = 0.0
        self.credentials: list[tuple[str, str]] = []
        """The headers with the credentials that it was sent with."""

    async def trace(self, event: str, info: dict[str, Any]) -> None:
        if event == "http11.send_request_body.complete":
            self.written = True

    def permitted_after(self, seconds: float) -> None:
        """`seconds`: the wait for a permit of the rate limit."""
        self.waited = seconds

    def sent_with(self, credentials: list[tuple[str, str]]) -> None:
        """`credentials`: their headers."""
        self.credentials = credentials

    @property
    def headers(self) -> list[tuple[str, str]]:
        """What it asks for, and what its body is."""
        about_body = [("Content-Type", self.form.content_type), ("Content-Length", str(len(self.body)))]
        return [("Accept", self.form.accept), *(about_body if self.body else ())]

    @property
    def place(self) -> str:
        """The URL without its query and without a name and password."""
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"

    @property
    def may_repeat(self) -> bool:
        """Whether it is safe to repeat: the server cannot have processed it, or it changes nothing."""
        return self.method in ("GET", "HEAD") or not self.written

    def second_attempt(self) -> RequestAttempt:
        retry = RequestAttempt(self.method, self.url, self.form)
        retry.second = True
        return retry

    def observation(self, code: str, seconds: float, received: int) -> RequestObservation:
        return RequestObservation(self.method, code, seconds, self.waited, len(self.body), received, self.second)


class BodyTooLarge(httpcore.ReadError):
    """The body has more bytes than are read."""


async def bounded_body(response: httpcore.Response, most: int = MAX_OBJECT) -> bytes:
    """Raises BodyTooLarge, and what httpcore raises."""
    parts, length = [], 0
    async for chunk in response.aiter_stream():
        length += len(chunk)
        if length > most:
            raise BodyTooLarge(f"an answer of more than {most >> 20} MiB")
        parts.append(chunk)
    return b"".join(parts)


def headers_of(response: httpcore.Response) -> dict[str, str]:
    return {name.decode("ascii").lower(): value.decode("latin-1") for name, value in response.headers}


def warnings_of(response: httpcore.Response) -> list[str]:
    """The warnings in a response (RFC 7234 5.5; KEP-1693: code 299)."""
    given = (value.decode("utf-8", "replace") for name, value in response.headers if name.lower() == b"warning")
    return [_ESCAPED.sub(r"\1", found[1]) for text in given for found in _WARNING.finditer(text)]


def event_of(line: bytes) -> WatchEvent:
    """Parse an event. Raises the ApiError of an ERROR event, Unreachable for invalid data."""
    try:
        read = _line.decode(line)
    except UNREADABLE:
        raise Unreachable(0, "Unreachable", "the watch returned an invalid event") from None
    return watch_event(read.type, bytes(read.object))


def watch_event(kind: str, data: bytes) -> WatchEvent:
    """Raises the ApiError of an ERROR event. `data`: JSON."""
    if kind == "ERROR":
        raise error_of(0, data, {})
    return WatchEvent(kind, data)


def unreachable(request: RequestAttempt, error: Exception) -> Unreachable:
    text = (str(error) or type(error).__name__)[:MAX_TEXT]
    kind = TooLarge if isinstance(error, BodyTooLarge) else Unreachable
    return kind(0, "Unreachable", f"{request.method} {request.place}: {text}")
