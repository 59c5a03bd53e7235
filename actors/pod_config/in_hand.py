"""Which manifest was in hand when this actor died: one that ends it three times is skipped until it changes.

A small file beside the sockets, in memory: it is written before a manifest is read and emptied after.
"""

from __future__ import annotations

import os
from typing import Final

import msgspec

from supervision.errors import UNREADABLE

LIMIT: Final = 3


class _Record(msgspec.Struct):
    hand: str = ""
    """Path and stamp of what is being read."""
    crashes: dict[str, int] = {}
    """How often each was in hand when the actor died."""


class InHand:
    """Of one agent. Without its directory nothing is remembered."""

    def __init__(self, path: str) -> None:
        """An empty path stands for nowhere."""
        self._fd = -1
        self._record = _Record()
        try:
            self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
            self._record = msgspec.json.decode(os.pread(self._fd, 1 << 20, 0) or b"{}", type=_Record)
        except (OSError, *UNREADABLE):
            # the file is a precaution: without it manifests are read as they are
            pass
        if self._record.hand:
            crashes = self._record.crashes
            crashes[self._record.hand] = crashes.get(self._record.hand, 0) + 1
            self._record.hand = ""
            self._write()

    def refuses(self, path: str, stamp: tuple[int, ...]) -> bool:
        """Whether this very manifest has ended the actor too often."""
        return self._record.crashes.get(_key(path, stamp), 0) >= LIMIT

    def take(self, path: str, stamp: tuple[int, ...]) -> None:
        """Before a manifest is read."""
        self._record.hand = _key(path, stamp)
        self._write()

    def put_down(self) -> None:
        """After it was read, or refused: the actor lives, so it is not held against it."""
        self._record.crashes.pop(self._record.hand, None)
        self._record.hand = ""
        self._write()

    def _write(self) -> None:
        if self._fd >= 0:
            data = msgspec.json.encode(self._record)
            os.pwrite(self._fd, data, 0)
            os.ftruncate(self._fd, len(data))


def _key(path: str, stamp: tuple[int, ...]) -> str:
    return f"{path} {'.'.join(map(str, stamp))}"
