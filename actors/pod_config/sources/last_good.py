"""The last good pods of bad manifests, stored over a restart: no source can return them again.

The file exists only while there is such a pod. Without it, bad manifests have no pods.
"""

from __future__ import annotations

from typing import Final

import msgspec

from supervision.errors import error_text
from supervision.state_file import DamagedError, StateFile

from ..manifests.manifest import StaticPod

VERSION: Final = 2


class LastGoodPod(msgspec.Struct, frozen=True):
    """The last good pod of a bad manifest."""

    pod: StaticPod
    changed_ns: int
    """When its file became valid, in nanoseconds since 1970."""


class LastGoodPods:
    """Stores the pods by the path of their manifest."""

    def __init__(self, path: str) -> None:
        # private: manifests hold secrets in environment variables
        self._file = StateFile(path, dict[str, LastGoodPod], VERSION)
        self.problem = ""
        """Why the file cannot be read or written; '' when it can."""
        self._saved: dict[str, LastGoodPod] = {}

    def load(self) -> dict[str, LastGoodPod]:
        try:
            self._saved = self._file.load() or {}
        except (OSError, DamagedError) as error:
            self.problem = error_text(error)
        return dict(self._saved)

    def save(self, pods: dict[str, LastGoodPod]) -> None:
        """Write the pods if they changed; without pods, remove the file."""
        if pods == self._saved:
            return
        try:
            if pods:
                self._file.save(pods)
            else:
                self._file.remove()
        except OSError as error:
            self.problem = f"cannot store the last good pods of bad manifests: {error_text(error)}"
            return
        self._saved, self.problem = pods, ""
