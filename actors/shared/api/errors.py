"""The errors of an API server, by cause (Kubernetes API conventions, section on error codes)."""

from __future__ import annotations

import http
from collections.abc import Mapping
from typing import Final

import msgspec

from supervision.errors import UNREADABLE


class ApiError(Exception):
    """A request failed. `status` 0: no answer."""

    def __init__(self, status: int, reason: str, message: str, retry_after: float = 0.0) -> None:
        name = reason or str(status)
        from_other_actor = message in ("", name) or message.startswith(
            f"{name}: "
        )  # by another actor, which passes its error on
        super().__init__((message or name) if from_other_actor else f"{name}: {message}")
        self.status, self.reason, self.message, self.retry_after = status, reason, message, retry_after


class Unreachable(ApiError):
    """No answer: refused, reset, timed out, TLS or proxy failure. The connection is closed."""


class TooLarge(Unreachable):
    """The answer has more bytes than the request allows. The rest is not read."""


class Unreadable(Unreachable):
    """The answer is no object of the API."""


class NoCredentials(ApiError):
    """There is no kubeconfig yet, or it or its exec plugin gives no usable credentials."""


class Unauthorized(ApiError):
    """401."""


class Forbidden(ApiError):
    """403."""


class NotFound(ApiError):
    """404."""


class NodeLost(NotFound):
    """The server has an older state than before, and does not know the node in it."""


class AlreadyExists(ApiError):
    """409 with reason AlreadyExists."""


class Conflict(ApiError):
    """409: the object has changed meanwhile, or a precondition does not hold."""


class Gone(ApiError):
    """410: the resourceVersion is too old; list again."""


class Invalid(ApiError):
    """400 or 422: the request is invalid."""


class TooManyRequests(ApiError):
    """429; `retry_after`: seconds until the next try."""


class ServerError(ApiError):
    """5xx."""


_BY_STATUS: dict[int, type[ApiError]] = {
    400: Invalid,
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    410: Gone,
    422: Invalid,
    429: TooManyRequests,
}


MOST_RETRY_AFTER: Final = 60.0
"""Seconds. A server or a proxy before it that asks for years must not silence the node for years."""


MAX_TEXT: Final = 2048
"""Characters of an error's text. What is no HTTP is quoted in it, and a Status may say as much as an object holds: it
goes to the log, to other actors and into the statuses of pods."""


class _Details(msgspec.Struct):
    retryAfterSeconds: int = 0


class _Status(msgspec.Struct):
    """The used part of meta/v1 Status."""

    code: int = 0
    reason: str = ""
    message: str = ""
    details: _Details | None = None


def error_of(status: int, body: bytes, headers: Mapping[str, str]) -> ApiError:
    """The error for a response that is not 2xx; `headers` with lower-case names."""
    try:
        status_object = msgspec.json.decode(body, type=_Status)
    except UNREADABLE:
        status_object = _Status(message=f"HTTP status {status} {body[:200].decode(errors='replace').strip()}".rstrip())
    after = headers.get("retry-after", "")
    wait = float(after[:9]) if after.isascii() and after.isdigit() else 0.0
    if not wait and status_object.details is not None:
        wait = max(0, status_object.details.retryAfterSeconds)
    wait = min(wait, MOST_RETRY_AFTER)
    return _error(status or status_object.code or 500, status_object.reason, status_object.message, wait)


def _error(status: int, reason: str, message: str, retry_after: float) -> ApiError:
    kind = _BY_STATUS.get(status, ServerError if status >= 500 else ApiError)
    if status == 409 and reason == "AlreadyExists":
        kind = AlreadyExists
    return kind(status, reason[:MAX_TEXT] or _phrase(status), message[:MAX_TEXT], retry_after)


def _phrase(status: int) -> str:
    """`InternalServerError` for 500."""
    try:
        return http.HTTPStatus(status).phrase.replace(" ", "")
    except ValueError:
        return ""
