"""A configuration document: its data, its source, and the line of each field."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final

from actors.shared.config.errors import ConfigErrors, ConfigProblem
from supervision.documents.model import DocumentError, DocumentLimits
from supervision.documents.reader import read as read_document

LIMITS: Final = DocumentLimits()
MAX_BYTES: Final = LIMITS.size


class Document:
    """A parsed document."""

    def __init__(self, source: str, data: dict[str, Any], lines: dict[str, int]) -> None:
        self.source, self.data, self.lines = source, data, lines

    def without(self, fields: Collection[str]) -> Document:
        """The same without these fields at the top."""
        return Document(self.source, {name: self.data[name] for name in self.data if name not in fields}, self.lines)


def read(raw: bytes, source: str) -> Document:
    """Read one document with an object at the top; an empty document is an empty object.

    `source` is named in the problems. Raises ConfigErrors.
    """
    try:
        data, lines = read_document(raw, LIMITS)
    except DocumentError as error:
        raise ConfigErrors(
            ConfigProblem(one.path, "", one.rule, f"{source}:{one.line}" if one.line else source)
            for one in error.problems
        ) from None
    if data is None:
        return Document(source, {}, {})
    if not isinstance(data, dict):
        raise ConfigErrors([ConfigProblem("", "", "must be an object", source)])
    return Document(source, data, lines)
