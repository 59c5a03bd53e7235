"""The last good pods of files that are bad now, over a restart: the one thing that no source can give again.

Written only while there is such a file. A damaged file is set aside; without it the bad manifests have no pods.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import msgspec

from supervision.errors import UNREADABLE

from .manifest import StaticPod

VERSION: Final = 1


class Kept(msgspec.Struct, frozen=True):
    pod: StaticPod
    changed_ns: int
    """When its file became good, in nanoseconds since 1970."""


class _File(msgspec.Struct):
    version: int
    manifests: dict[str, Kept]


class KeptPods:
    """By path of the manifest."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.problem = ""
        """Why the file could not be read or written."""
        self._saved: dict[str, Kept] = {}

    def load(self) -> dict[str, Kept]:
        try:
            found = msgspec.json.decode(Path(self.path).read_bytes(), type=_File)
        except FileNotFoundError:
            return {}
        except OSError as error:
            self.problem = str(error)
            return {}
        except UNREADABLE as error:
            self.problem = f"{self.path} is damaged and set aside: {error}"
            os.replace(self.path, f"{self.path}.damaged")
            return {}
        self._saved = found.manifests if found.version == VERSION else {}
        return dict(self._saved)

    def save(self, kept: dict[str, Kept]) -> None:
        """Write it if it is not what was written last; nothing to keep: no file."""
        if kept == self._saved:
            return
        try:
            self._write(kept)
        except OSError as error:
            self.problem = f"the last good pods of bad manifests cannot be kept: {error}"
            return
        self._saved, self.problem = kept, ""

    def _write(self, kept: dict[str, Kept]) -> None:
        if not kept:
            Path(self.path).unlink(missing_ok=True)
            return
        os.makedirs(os.path.dirname(self.path), mode=0o700, exist_ok=True)
        temporary = Path(f"{self.path}.new")
        # manifests hold secrets in environment variables
        with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(msgspec.json.encode(_File(VERSION, kept)))
        temporary.replace(self.path)
