"""The answers that are a metav1.Status: each failure of the API has its code, reason and text."""

from __future__ import annotations

from typing import Any, NoReturn

from .objects import Obj

REASONS = {
    400: "BadRequest",
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFound",
    405: "MethodNotAllowed",
    406: "NotAcceptable",
    409: "Conflict",
    410: "Expired",
    415: "UnsupportedMediaType",
    422: "Invalid",
    429: "TooManyRequests",
    500: "InternalError",
    502: "",
    503: "ServiceUnavailable",
    504: "Timeout",
}


GENERIC = {
    404: "the server could not find the requested resource",
    405: "the server does not allow this method on the requested resource",
    415: "415: Unsupported Media Type",
    422: "the server rejected our request due to an error in our request",
}


class StatusError(Exception):
    """Answered with this code and a Status. `details` that are empty are left out, as the real server does."""

    def __init__(self, code: int, message: str, *, reason: str = "", retry_after: int = 0, **details: Any) -> None:
        super().__init__(message)
        self.code, self.message, self.retry_after = code, message, retry_after
        self.reason = reason or REASONS.get(code, "")
        self.metadata: Obj = {}
        self.details: Obj | None = {name: value for name, value in details.items() if value} or None

    def status(self) -> Obj:
        details = self.details
        if self.retry_after:
            details = {**(details or {}), "retryAfterSeconds": self.retry_after}
        return {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": self.metadata,
            "status": "Failure",
            "message": self.message,
            **({"reason": self.reason} if self.reason else {}),
            **({} if details is None else {"details": details}),
            "code": self.code,
        }


def generic(code: int) -> StatusError:
    """What the server says of a request that comes to no collection: details there are, but nothing in them."""
    error = StatusError(code, GENERIC[code])
    error.details = {}
    return error


def _named(qualified: str, name: str) -> Obj:
    """Details of an object: `qualified` is a plural or a kind, with its group."""
    kind, _, group = qualified.partition(".")
    return {"name": name, "group": group, "kind": kind}


def not_found(qualified: str, name: str) -> NoReturn:
    raise StatusError(404, f'{qualified} "{name}" not found', **_named(qualified, name))


def conflict(qualified: str, name: str, why: str) -> NoReturn:
    text = f'Operation cannot be fulfilled on {qualified} "{name}": {why}'
    raise StatusError(409, text, **_named(qualified, name))


def already_exists(qualified: str, name: str) -> NoReturn:
    text = f'{qualified} "{name}" already exists'
    raise StatusError(409, text, reason="AlreadyExists", **_named(qualified, name))


def invalid(qualified: str, name: str, causes: list[tuple[str, str, str]]) -> NoReturn:
    """`qualified`: the kind with its group. `causes`: (field, reason, message)."""
    listed = [f"{field}: {message}" for field, _, message in causes]
    text = listed[0] if len(listed) == 1 else f"[{', '.join(listed)}]"
    found = [{"field": field, "reason": reason, "message": message} for field, reason, message in causes]
    raise StatusError(422, f'{qualified} "{name}" is invalid: {text}', **_named(qualified, name), causes=found)


def forbidden(qualified: str, name: str, why: str) -> NoReturn:
    subject = f'{qualified} "{name}"' if name else qualified
    raise StatusError(403, f"{subject} is forbidden: {why}", **_named(qualified, name))
