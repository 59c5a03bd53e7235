"""A value in memory, and the state file that outlives this process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeVar

from supervision.state_file import write_private

T = TypeVar("T")


class StateStore(Generic[T]):
    """The file is replaced before the value is used: what was given to a container is never given again."""

    def __init__(self, path: Path, value: T, encode: Callable[[T], bytes]) -> None:
        """Writes the file. Raises OSError."""
        self._path, self._encode = path, encode
        self.value = value
        self.keep(value)

    def keep(self, value: T) -> None:
        """Raises OSError."""
        write_private(self._path, self._encode(value), sync=False)
        self.value = value
