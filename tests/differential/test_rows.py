"""Small situations of a pod, against the outcome that the kubelet documents: see `rows/` and `row.py`."""

from __future__ import annotations

import copy
import importlib
import pkgutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.differential import rows
from tests.differential.row import Row, play
from tests.support.virtual_loop import run


def table() -> Iterator[tuple[str, Row]]:
    for module in sorted(one.name for one in pkgutil.iter_modules(rows.__path__)):
        for row in importlib.import_module(f"{rows.__name__}.{module}").ROWS:
            yield module, row


ALL = list(table())


@pytest.mark.parametrize("row", [pytest.param(row, id=f"{module}: {row.name}") for module, row in ALL])
def test_the_agent_does_what_the_kubelet_documents(row: Row, tmp_path: Path) -> None:
    own = row._replace(pod=copy.deepcopy(row.pod))
    run(lambda loop: play(own, tmp_path, loop))


def test_each_row_is_unique_and_names_its_source() -> None:
    names = [(module, row.name) for module, row in ALL]
    assert len(names) == len(set(names))
    assert [row.name for _, row in ALL if not row.source] == []
