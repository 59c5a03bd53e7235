"""An answer that is an error."""

from __future__ import annotations


class Refused(Exception):
    """Raised by an endpoint: HTTP status, and the text for the caller."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status
