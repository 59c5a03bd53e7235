"""Admissions that are not answered yet. Their pod may be withdrawn while they wait. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class PendingAdmission:
    """One admission of one pod."""

    def __init__(self, uid: str) -> None:
        self.uid, self.withdrawn = uid, False


class PendingAdmissions:
    """All of them, by pod."""

    def __init__(self) -> None:
        self._pending: dict[str, set[PendingAdmission]] = {}

    @contextmanager
    def begin(self, uid: str) -> Iterator[PendingAdmission]:
        """Pending until the block is left."""
        admission = PendingAdmission(uid)
        self._pending.setdefault(uid, set()).add(admission)
        try:
            yield admission
        finally:
            self._end(admission)

    def _end(self, admission: PendingAdmission) -> None:
        there = self._pending.get(admission.uid, set())
        there.discard(admission)
        if not there:
            self._pending.pop(admission.uid, None)

    def withdraw(self, uid: str) -> None:
        """Withdraw the pending admissions of this pod, not those that begin later."""
        for admission in self._pending.pop(uid, ()):
            admission.withdrawn = True

    def alone(self, admission: PendingAdmission) -> bool:
        """Whether it is the only admission of its pod that is pending and not withdrawn."""
        return self._pending.get(admission.uid) == {admission}

    def last(self, admission: PendingAdmission) -> bool:
        """Whether no other admission of its pod is pending. It may itself be withdrawn."""
        return self._pending.get(admission.uid, set()) <= {admission}

    def awaits(self, uid: str) -> bool:
        """Whether an admission of this pod is pending."""
        return uid in self._pending
