"""Lays out pairs and tables as lines. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from supervision.cli.text import table_with_texts, wrapped


def pairs(pairs: Iterable[tuple[str, str]], columns: int = 0, indent: str = "") -> list[str]:
    """A line for each pair. Further lines of a value begin below its first, as do the rest of one that is wider than
    `columns` (0: no limit)."""
    found = list(pairs)
    width = max((len(name) for name, _ in found), default=0) + 2
    return [line for name, value in found for line in _pair(f"{indent}{f'{name}:':<{width}}", value, columns)]


def _pair(begin: str, value: str, columns: int) -> Iterator[str]:
    below = " " * len(begin)
    for at, line in enumerate(value.split("\n")):
        whole = (below if at else begin) + line
        yield from wrapped(line, columns, below, begin if at == 0 else below) if len(whole) > columns > 0 else [whole]


def indented_table(header: Sequence[str], rows: Sequence[Sequence[str]], columns: int) -> list[str]:
    found = table_with_texts(header, rows, columns and columns - 2)
    return indent(line for lines in found for line in lines)


def indent(text: Iterable[str]) -> list[str]:
    return [f"  {line}" for line in text]
