"""The images that the agent has built for its managed runtime. They are never collected: no registry has them, and a
start builds them once."""

from __future__ import annotations

import msgspec

from actors.shared.config.paths import IMAGES_FILE
from supervision.errors import UNREADABLE
from supervision.state_file import NotAFileError, read_private


class BuiltImages:
    """`managed_root`: the directory of the managed runtime; '' for another runtime, which has none."""

    def __init__(self, managed_root: str) -> None:
        self._file = f"{managed_root}/{IMAGES_FILE}"
        self._ids: frozenset[str] | None = None if managed_root else frozenset()

    def ids(self) -> frozenset[str]:
        """Their IDs; none without a record, or with a damaged one. Raises OSError: they are not known now."""
        if self._ids is None:
            self._ids = self._read()
        return self._ids

    def _read(self) -> frozenset[str]:
        try:
            built = msgspec.json.decode(read_private(self._file), type=dict[str, str])
        except (FileNotFoundError, NotAFileError, *UNREADABLE):
            return frozenset()
        return frozenset(built.values())
