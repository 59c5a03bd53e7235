"""Finds the lines of a manifest's wrong fields. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from supervision.documents.model import DocumentError, DocumentLimits
from supervision.documents.yaml_reader import read_yaml

from ..validation.errors import MAX_TEXT, FieldError

LIMITS: Final = DocumentLimits(depth=64)
"""Of a document whose lines are looked for: that of a larger one takes seconds."""


def with_lines(errors: Sequence[FieldError], data: bytes) -> list[FieldError]:
    """The errors, each with its line; without one where the document is large, or a line is known already.

    `data`: the document, YAML or JSON, which is read once more.
    """
    if len(data) > LIMITS.size or all(error.line for error in errors):
        return list(errors)
    try:
        lines = read_yaml(data.decode("utf-8-sig"), LIMITS)[1]
    except (DocumentError, UnicodeDecodeError):
        return list(errors)
    places = {_plain(path): line for path, line in lines.items()}
    return [
        error if error.line else FieldError(error.path, error.text, line_of(error.path, places)) for error in errors
    ]


def line_of(path: str, places: dict[str, int]) -> int:
    """The line of the field, or of the nearest one around it; 0 if neither is there."""
    place = _plain(path[:MAX_TEXT])
    while place and place not in places:
        place = place.rpartition(".")[0]
    return places.get(place, 0) if place else 0


def _plain(path: str) -> str:
    """`a[0].b[x]` as `a.0.b.x`: who names a key of a map does so with brackets or with a dot."""
    return path.replace("[", ".").replace("]", "").lstrip(".")
