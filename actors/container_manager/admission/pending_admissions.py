"""Admissions that are not answered yet. Their pod may be withdrawn while they wait. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class PendingAdmission:
    """An admission of a pod."""

    def __init__(self, uid: str) -> None:
        self.uid, self.withdrawn = uid, False


class PendingAdmissions:
    """All pending admissions, by pod."""

    def __init__(self) -> None:
        self._pending: dict[str, list[PendingAdmission]] = {}
        """By pod, oldest first."""

    @contextmanager
    def start(self, uid: str) -> Iterator[PendingAdmission]:
        """Pending until the block is left."""
        admission = PendingAdmission(uid)
        self._pending.setdefault(uid, []).append(admission)
        try:
            yield admission
        finally:
            self._end(admission)

    def _end(self, admission: PendingAdmission) -> None:
        there = [one for one in self._pending.pop(admission.uid, ()) if one is not admission]
        if there:
            self._pending[admission.uid] = there

    def withdraw(self, uid: str) -> None:
        """Withdraw the pending admissions of this pod, but not later ones."""
        for admission in self._pending.pop(uid, ()):
            admission.withdrawn = True

    def is_only(self, admission: PendingAdmission) -> bool:
        """Whether it is the only admission of its pod that is pending and not withdrawn."""
        return self._pending.get(admission.uid) == [admission]

    def is_newest(self, admission: PendingAdmission) -> bool:
        """Whether it is pending and the latest one of its pod, so that the worker waits for its answer."""
        there = self._pending.get(admission.uid)
        return there is not None and there[-1] is admission

    def is_last(self, admission: PendingAdmission) -> bool:
        """Whether no other admission of its pod is pending. It may itself be withdrawn."""
        return self._pending.get(admission.uid, [admission]) == [admission]

    def awaits(self, uid: str) -> bool:
        """Whether an admission of this pod is pending."""
        return uid in self._pending
