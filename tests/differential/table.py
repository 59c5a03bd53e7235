"""The tests of a module's rows: small situations of a pod, against the outcome that the kubelet documents."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.differential.row import Row, play
from tests.support.virtual_loop import run


def documented(rows: Sequence[Row]) -> Callable[[Row, Path], None]:
    """A test of each row."""

    def play_one(row: Row, tmp_path: Path) -> None:
        own = row._replace(pod=copy.deepcopy(row.pod))
        run(lambda loop: play(own, tmp_path, loop))

    of_each = pytest.mark.parametrize("row", [pytest.param(row, id=row.name) for row in rows])
    test: Callable[[Row, Path], None] = of_each(play_one)
    return test
