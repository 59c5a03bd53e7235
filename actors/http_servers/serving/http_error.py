"""The error that an endpoint raises."""

from __future__ import annotations


class HttpError(Exception):
    """The answer is this HTTP status, with this text for the caller."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status
