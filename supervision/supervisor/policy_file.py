"""Reads the policy file as plain data with line numbers: bounded, without aliases and tags."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import msgspec

from ..documents.model import DocumentError, DocumentLimits
from ..documents.reader import read as read_document

LIMITS: Final = DocumentLimits(aliases=False)


class PolicyProblem(msgspec.Struct, frozen=True):
    """A problem of a file."""

    file: str
    line: int
    """Counted from 1; 0: none."""
    path: str
    """The path of the field, `actors.pleg.restart`; '' for the whole file."""
    rule: str
    """The value found, and the broken rule."""

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}" if self.line else self.file
        return ": ".join(part for part in (where, self.path, self.rule) if part)


class PolicyError(Exception):
    """The policy is invalid; lists every problem."""

    def __init__(self, problems: Iterable[PolicyProblem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))


class PolicyFile(msgspec.Struct, frozen=True):
    data: dict[str, Any]
    lines: dict[str, int]
    """By path, as documents.model.below makes it."""


def read(path: Path) -> PolicyFile:
    """The file's top level. Raises PolicyError."""
    try:
        with path.open("rb") as opened:
            data = opened.read(LIMITS.size + 1)
    except OSError as error:
        raise PolicyError([PolicyProblem(str(path), 0, "", f"cannot be read: {error.strerror}")]) from error
    return read_text(data, str(path))


def read_text(text: str | bytes, file: str) -> PolicyFile:
    """Like `read`, for a text; `file` is named in the problems. Raises PolicyError."""
    raw = text if isinstance(text, bytes) else text.encode()
    try:
        data, lines = read_document(raw, LIMITS)
    except DocumentError as error:
        raise PolicyError(PolicyProblem(file, one.line, one.path, one.rule) for one in error.problems) from error
    if not isinstance(data, dict):
        raise PolicyError([PolicyProblem(file, lines.get("", 0), "", "must be a mapping with `version` and `actors`")])
    return PolicyFile(data, lines)
