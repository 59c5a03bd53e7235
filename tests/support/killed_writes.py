"""The end of a process at one of the writes of its state."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from actors.shared import state_files
from supervision.state_file import write_private


class Killed(BaseException):
    """The process has died."""


class KilledWrites:
    """The process dies at the write of the number `step`, before or after it; the disk keeps what was written."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, step: int, *, after: bool) -> None:
        self._step, self._after, self._left = step, after, -1
        monkeypatch.setattr(state_files, "write_private", self._write)

    def _write(self, path: str | Path, data: bytes, **options: Any) -> None:
        self._left -= 1
        if self._left == 0 and not self._after:
            raise Killed
        write_private(path, data, **options)
        if self._left == 0:
            raise Killed

    @contextmanager
    def armed(self) -> Iterator[None]:
        """What is done here may be cut off."""
        self._left = self._step + 1
        with suppress(Killed):
            yield
        self._left = -1
