"""A value in memory, and the state file that outlives this process."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Generic, TypeVar

from actors.shared.state_files import CopiedFile
from supervision.state_file import read_private

T = TypeVar("T")


class StateStore(Generic[T]):
    """The file is replaced before more is given: what was given to a container is never given again."""

    def __init__(self, file: CopiedFile, value: T, encode: Callable[[T], bytes]) -> None:
        """Writes the file, unless it has this value: a full disk does not matter then. Raises OSError."""
        self._file, self._encode = file, encode
        self.value = value
        if not file.path.exists() or read_private(file.path) != encode(value):
            self.keep(value)

    def keep(self, value: T) -> None:
        """Raises OSError, and the value stays as it was."""
        self._file.write(self._encode(value))
        self.value = value

    def free(self, value: T) -> None:
        """A value in which less is given. The file may stay as it was: all that is given later must be in it, and the
        next process releases what nobody has."""
        self.value = value
        with suppress(OSError):
            self._file.write(self._encode(value))
