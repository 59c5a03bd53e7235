"""A value in memory, and the state file that outlives this process."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Generic, TypeVar

from actors.shared.state_files import CopiedFile

T = TypeVar("T")


class StateStore(Generic[T]):
    """A value with its file. The file is replaced before an allocation takes effect, so nothing is allocated twice."""

    def __init__(self, file: CopiedFile, value: T, encode: Callable[[T], bytes]) -> None:
        """Writes the file, unless it already has this value, so that a full disk does not matter then. Raises
        OSError."""
        self._file, self._encode = file, encode
        self.value = value
        if not file.has(encode(value)):
            self.keep(value)

    def keep(self, value: T) -> None:
        """Replace the value and the file. If it raises OSError, the value stays unchanged."""
        self._file.write(self._encode(value))
        self.value = value

    def free(self, value: T) -> None:
        """Replace the value by one with fewer allocations. If the file cannot be written it stays unchanged: the next
        process releases allocations without a pod."""
        self.value = value
        with suppress(OSError):
            self._file.write(self._encode(value))
