"""Where the rows come from."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from pathlib import Path

from tests.differential.row import Row

HERE = Path(__file__)


def table() -> Iterator[tuple[str, Row]]:
    """Each row with its module."""
    for module in sorted(path.stem for path in HERE.parent.glob("test_*.py") if path != HERE):
        for row in importlib.import_module(f"tests.differential.{module}").ROWS:
            yield module, row


def test_each_row_is_unique_and_names_its_source() -> None:
    rows = list(table())
    names = [(module, row.name) for module, row in rows]
    assert names
    assert len(names) == len(set(names))
    assert [row.name for _, row in rows if not row.source] == []
