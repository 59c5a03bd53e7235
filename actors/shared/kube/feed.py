"""Puts a full list of pods and single changes to it back in order.

Between actors a small message may overtake a large one. So a full list can arrive after a change that is newer than it;
each carries a `revision` that its sender counts up.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

import msgspec

from supervision.errors import UNREADABLE

KEEP_SECONDS = 60.0
"""No message is under way for so long: its deadline is 10 s."""


class _Meta(msgspec.Struct):
    uid: str = ""


class _Object(msgspec.Struct):
    metadata: _Meta


_object = msgspec.json.Decoder(_Object)


def uid_of(data: bytes) -> str:
    """Of an object's JSON; '' when it is none."""
    try:
        return _object.decode(data).metadata.uid
    except UNREADABLE:
        return ""


class FeedOrder:
    """One receiver's view of one sender's pods. Revision 0 is of a sender that does not count: taken as it comes."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._full = 0
        self._changes: dict[str, tuple[int, float, bytes]] = {}
        """By UID the newest change: revision, when it came, the pod (empty: deleted)."""

    def full(self, revision: int, pods: Iterable[bytes]) -> list[bytes] | None:
        """The list with the newer changes that have come already; None: a newer list has come."""
        if revision and revision < self._full:
            return None
        self._full = revision
        newer = {uid: data for uid, (at, _, data) in self._changes.items() if at > revision} if revision else {}
        self._changes = {uid: self._changes[uid] for uid in newer}
        kept = [data for data in pods if uid_of(data) not in newer] if newer else list(pods)
        return kept + [data for data in newer.values() if data]

    def change(self, revision: int, uid: str, data: bytes) -> bool:
        """Whether the change is news."""
        if revision and revision <= max(self._full, self._changes.get(uid, (0,))[0]):
            return False
        now = self._clock()
        if revision:
            self._changes.pop(uid, None)
            self._changes[uid] = (revision, now, data)
            self._forget(now)
        return True

    def _forget(self, now: float) -> None:
        while self._changes:
            uid, (_, came, _) = next(iter(self._changes.items()))
            if now - came < KEEP_SECONDS:
                break
            del self._changes[uid]
