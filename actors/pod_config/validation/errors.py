"""The errors of a manifest: of single fields, and as an exception."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

MAX_ERRORS = 50
"""Errors that are reported for one manifest; further ones are only counted."""


MAX_TEXT = 500
"""Characters of one error: the name of a field may be megabytes long."""


class FieldError(msgspec.Struct, frozen=True):
    """An error. `path` is the field, like `spec.containers[0].image`; empty for the whole document."""

    path: str
    text: str
    line: int = 0
    """Where the field stands in the document, or else the nearest one around it; from 1, 0 if it is not known."""

    def __str__(self) -> str:
        text = f"{self.path}: {self.text}" if self.path else self.text
        return f"line {self.line}: {text}" if self.line else text


class ManifestError(ValueError):
    """The manifest cannot be used. `errors` has every reason, in the order of the document."""

    def __init__(self, errors: Iterable[FieldError]) -> None:
        self.errors = list(errors)
        super().__init__("; ".join(self.texts()))

    def texts(self) -> list[str]:
        """Each error as text, at most MAX_ERRORS of them."""
        shown = [str(error)[:MAX_TEXT] for error in self.errors[:MAX_ERRORS]]
        more = len(self.errors) - len(shown)
        return [*shown, f"and {more} more errors"] if more else shown


def document_error(text: str) -> ManifestError:
    """An error of the document, not of a field."""
    return ManifestError([FieldError("", text)])
