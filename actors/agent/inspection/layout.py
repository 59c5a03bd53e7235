"""Lays out pairs and tables as lines. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from supervision.cli.text import table_with_texts


def pairs(pairs: Iterable[tuple[str, str]], indent: str = "") -> list[str]:
    found = list(pairs)
    width = max((len(name) for name, _ in found), default=0) + 2
    return [f"{indent}{f'{name}:':<{width}}{value}" for name, value in found]


def indented_table(header: Sequence[str], rows: Sequence[Sequence[str]], columns: int) -> list[str]:
    found = table_with_texts(header, rows, columns and columns - 2)
    return indent(line for lines in found for line in lines)


def indent(text: Iterable[str]) -> list[str]:
    return [f"  {line}" for line in text]
