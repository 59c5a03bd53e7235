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


class StatusError(Exception):
    """Answered with this code and a Status."""

    def __init__(self, code: int, message: str, *, reason: str = "", retry_after: int = 0, **details: Any) -> None:
        super().__init__(message)
        self.code, self.message, self.retry_after = code, message, retry_after
        self.reason, self.details = reason or REASONS.get(code, ""), details

    def status(self) -> Obj:
        details = dict(self.details)
        if self.retry_after:
            details["retryAfterSeconds"] = self.retry_after
        return {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
            "reason": self.reason,
            **({"details": details} if details else {}),
            "code": self.code,
        }


def _plural(qualified: str) -> str:
    return qualified.partition(".")[0]


def not_found(qualified: str, name: str) -> NoReturn:
    group = qualified.partition(".")[2]
    raise StatusError(404, f'{qualified} "{name}" not found', name=name, kind=_plural(qualified), group=group)


def conflict(qualified: str, name: str, why: str) -> NoReturn:
    text = f'Operation cannot be fulfilled on {qualified} "{name}": {why}'
    raise StatusError(409, text, name=name, kind=_plural(qualified))


def invalid(kind: str, name: str, causes: list[tuple[str, str, str]]) -> NoReturn:
    """`causes`: (field, reason, message)."""
    listed = [f"{field}: {message}" for field, _, message in causes]
    text = listed[0] if len(listed) == 1 else f"[{', '.join(listed)}]"
    found = [{"field": field, "reason": reason, "message": message} for field, reason, message in causes]
    raise StatusError(422, f'{kind} "{name}" is invalid: {text}', name=name, kind=kind, causes=found)


def forbidden(qualified: str, name: str, why: str) -> NoReturn:
    subject = f'{qualified} "{name}"' if name else qualified
    raise StatusError(403, f"{subject} is forbidden: {why}", name=name, kind=_plural(qualified))
