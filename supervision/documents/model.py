"""The limits of a document, its problems, and the paths of its fields."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, NoReturn

import msgspec

MOST_PROBLEMS: Final = 100


class DocumentLimits(msgspec.Struct, frozen=True):
    """The limits on a document."""

    size: int = 1 << 20
    """Bytes."""
    depth: int = 32
    """Levels of nesting."""
    nodes: int = 50_000
    """The number of values. An alias counts each time it is used, so a document cannot grow exponentially."""
    aliases: bool = True
    lines: bool = True
    """Whether to record the line of each field; for small documents."""


class DocumentProblem(msgspec.Struct, frozen=True):
    path: str
    """The path of the field, `a.b[0]`; '' for the whole document."""
    line: int
    """Counted from 1; 0: not known."""
    rule: str


class DocumentError(ValueError):
    """The document cannot be read. `problems` lists every problem."""

    def __init__(self, problems: Iterable[DocumentProblem]) -> None:
        self.problems = tuple(problems)
        super().__init__("; ".join(f"line {one.line}: {one.path}: {one.rule}" for one in self.problems))


def below(path: str, key: str) -> str:
    """The path of a member. Keys with dots, such as eviction signals, are put in brackets."""
    if "." in key or "/" in key:
        return f"{path}[{key}]"
    return f"{path}.{key}" if path else key


def refuse(rule: str, path: str = "", line: int = 0) -> NoReturn:
    raise DocumentError([DocumentProblem(path, line, rule)])


def refuse_too_many(limits: DocumentLimits, line: int = 0) -> NoReturn:
    refuse(f"must hold at most {limits.nodes} values, those of aliases counted each time", line=line)


def refuse_too_deep(limits: DocumentLimits, line: int = 0) -> NoReturn:
    refuse(f"must be at most {limits.depth} levels deep", line=line)


def children(value: dict[str, Any] | list[Any]) -> Iterable[Any]:
    return value.values() if isinstance(value, dict) else value
