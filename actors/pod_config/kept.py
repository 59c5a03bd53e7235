"""The last good pods of files that are bad now, kept over a restart: no source can give them again.

The file exists only while there is such a pod. Without it the bad manifests have no pods.
"""

from __future__ import annotations

from typing import Final

import msgspec

from supervision.state_file import DamagedError, StateFile

from .manifest import StaticPod

VERSION: Final = 2


class Kept(msgspec.Struct, frozen=True):
    pod: StaticPod
    changed_ns: int
    """When its file became good, in nanoseconds since 1970."""


class KeptPods:
    """By path of the manifest."""

    def __init__(self, path: str) -> None:
        # private: manifests hold secrets in environment variables
        self._file = StateFile(path, dict[str, Kept], VERSION)
        self.problem = ""
        """Why the file could not be read or written."""
        self._saved: dict[str, Kept] = {}

    def load(self) -> dict[str, Kept]:
        try:
            self._saved = self._file.load() or {}
        except (OSError, DamagedError) as error:
            self.problem = str(error)
        return dict(self._saved)

    def save(self, kept: dict[str, Kept]) -> None:
        """Write it if it is not what was written last; nothing to keep: no file."""
        if kept == self._saved:
            return
        try:
            if kept:
                self._file.save(kept)
            else:
                self._file.remove()
        except OSError as error:
            self.problem = f"the last good pods of bad manifests cannot be kept: {error}"
            return
        self._saved, self.problem = kept, ""
