"""Admissions that are under way. Each may wait for long, and its pod be withdrawn meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class Admission:
    """One question about one pod."""

    def __init__(self, uid: str) -> None:
        self.uid, self.withdrawn = uid, False


class Admissions:
    """Of the container manager."""

    def __init__(self) -> None:
        self._under_way: dict[str, set[Admission]] = {}

    @contextmanager
    def begin(self, uid: str) -> Iterator[Admission]:
        """Under way until the block is left."""
        admission = Admission(uid)
        self._under_way.setdefault(uid, set()).add(admission)
        try:
            yield admission
        finally:
            self._end(admission)

    def _end(self, admission: Admission) -> None:
        there = self._under_way.get(admission.uid, set())
        there.discard(admission)
        if not there:
            self._under_way.pop(admission.uid, None)

    def withdraw(self, uid: str) -> None:
        """What is under way for this pod comes to nothing; what begins after this stands."""
        for admission in self._under_way.pop(uid, ()):
            admission.withdrawn = True

    def alone(self, admission: Admission) -> bool:
        """Whether it stands, and no other that stands is under way for its pod."""
        return self._under_way.get(admission.uid) == {admission}
