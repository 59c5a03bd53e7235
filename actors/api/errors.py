"""What an API server answers that is no success, by cause (Kubernetes API conventions, section on error codes)."""

from __future__ import annotations


class ApiError(Exception):
    """The server, or the way to it, has failed us. `status` 0: no answer."""

    def __init__(self, status: int, reason: str, message: str, retry_after: float = 0.0) -> None:
        super().__init__(f"{reason or status}: {message}")
        self.status, self.reason, self.message, self.retry_after = status, reason, message, retry_after


class Unreachable(ApiError):
    """No answer: refused, reset, timed out, TLS failed, proxy failed. The connection it was on is closed."""


class NoCredentials(ApiError):
    """There is no kubeconfig yet, or it, or its exec plugin, gives no usable credentials."""


class Unauthorized(ApiError):
    """401."""


class Forbidden(ApiError):
    """403."""


class NotFound(ApiError):
    """404."""


class AlreadyExists(ApiError):
    """409 with reason AlreadyExists."""


class Conflict(ApiError):
    """409: the object has changed meanwhile, or a precondition does not hold."""


class Gone(ApiError):
    """410: the resourceVersion is too old; list again."""


class Invalid(ApiError):
    """400 or 422: what we sent is wrong."""


class TooManyRequests(ApiError):
    """429; `retry_after` says when."""


class ServerError(ApiError):
    """5xx."""
