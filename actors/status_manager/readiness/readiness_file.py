"""The readiness of probed containers in a file, so that a restart of the whole agent does not change it (k/k#100277).

Containers do not survive a reboot, so the file need not either: it is replaced by rename and never synced.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Final

import msgspec

from supervision.errors import UNREADABLE, error_text
from supervision.state_file import read_private, set_aside, write_private

from ..containers.container_status_input import Readiness

VERSION: Final = 1


class _File(msgspec.Struct):
    version: int
    pods: dict[str, dict[str, Readiness]]
    """By pod UID and container id."""


class ReadinessFile:
    """The readiness by pod UID and container id. Changes are kept in memory until `save`."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.changed = False
        self.problem = ""
        """Why the file could not be read or written; statuses are computed without it."""
        self._pods: dict[str, dict[str, Readiness]] = {}

    def load(self) -> None:
        """Read the file. A damaged one is renamed, if that can be, and its content is lost."""
        try:
            data = read_private(self.path)
        except FileNotFoundError:
            return
        except OSError as error:
            self.problem = error_text(error)
            return
        try:
            found = msgspec.json.decode(data, type=_File)
        except UNREADABLE as error:
            self.problem = f"{self.path} is damaged{self._set_aside()}: {error}"
            return
        if found.version == VERSION:
            self._pods = found.pods

    def _set_aside(self) -> str:
        try:
            set_aside(Path(self.path))
        except OSError:
            return ", and the next write replaces it"
        return " and set aside"

    def get(self, uid: str, container_id: str) -> Readiness | None:
        return self._pods.get(uid, {}).get(container_id)

    def put(self, uid: str, container_id: str, readiness: Readiness) -> None:
        if self.get(uid, container_id) != readiness:
            self._pods.setdefault(uid, {})[container_id] = readiness
            self.changed = True

    def keep_containers(self, uid: str, container_ids: Collection[str]) -> None:
        """Keep only these containers of this pod."""
        kept = {each: value for each, value in self._pods.get(uid, {}).items() if each in container_ids}
        if kept != self._pods.get(uid, {}):
            self._pods[uid] = kept
            self.changed = True
        if not kept:
            self._pods.pop(uid, None)

    def keep_pods(self, uids: Collection[str]) -> None:
        """Keep only these pods."""
        for gone in [uid for uid in self._pods if uid not in uids]:
            del self._pods[gone]
            self.changed = True

    def save(self) -> None:
        """Write the file if it has changed. On failure, `problem` has the reason, and the next call tries again."""
        if not self.changed:
            return
        try:
            write_private(self.path, msgspec.json.encode(_File(VERSION, self._pods)), sync=False)
        except OSError as error:
            self.problem = error_text(error)
            return
        self.changed, self.problem = False, ""
