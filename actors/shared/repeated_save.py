"""Saves a file that is written on a change only, again until it is written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from supervision.actor import Actor
from supervision.errors import error_text

RETRY_SECONDS: Final = 5.0


class RepeatedSave:
    """`save` writes the newest state, and raises OSError. `what`: its name in the log, which has one warning until it
    is written again."""

    def __init__(
        self, actor: Actor, save: Callable[[], None], what: str, saved_late: Callable[[], None] = lambda: None
    ) -> None:
        """`saved_late` is called after a retry that has written it."""
        self._actor, self._save, self._what, self._saved_late = actor, save, what, saved_late
        self._warned = self._scheduled = False

    def __call__(self) -> bool:
        """Save now, and retry later if that fails. Returns whether it was written."""
        try:
            self._save()
        except OSError as error:
            if not self._warned:
                self._actor.log.warning("%s cannot be written, a retry follows: %s", self._what, error_text(error))
            self._warned = True
            self._later()
            return False
        if self._warned:
            self._actor.log.info("%s is written again", self._what)
        self._warned = False
        return True

    def _later(self) -> None:
        if not self._scheduled:
            self._scheduled = True
            self._actor.after(RETRY_SECONDS, self._again)

    def _again(self) -> None:
        self._scheduled = False
        if self._warned and self():
            self._saved_late()
