"""Writes the readiness file when it has changed, and retries after a failure."""

from __future__ import annotations

from typing import Final

from supervision.actor import Actor

from .readiness_file import ReadinessFile

SAVE_SECONDS: Final = 0.5
"""Seconds until a change that can wait is written, and the pause after a failed write."""


class ReadinessSaver:
    """Writes the file. A change is saved before it is reported to other actors (`save`), so that the next incarnation
    does not know less. The end of a pod can be saved later, with other changes (`save_soon`)."""

    def __init__(self, actor: Actor, file: ReadinessFile) -> None:
        self._actor, self._file = actor, file
        self._scheduled = False

    def save(self) -> None:
        before = self._file.problem
        self._file.save()
        if self._file.problem and self._file.problem != before:
            self._actor.log.warning("the readiness of containers cannot be kept: %s", self._file.problem)
        if self._file.changed:
            self.save_soon()

    def save_soon(self) -> None:
        if not self._scheduled:
            self._scheduled = True
            self._actor.after(SAVE_SECONDS, self._save_now)

    def _save_now(self) -> None:
        self._scheduled = False
        self.save()
