"""Warnings about something that is retried: each is logged once, until it succeeds."""

from __future__ import annotations

import logging


class RepeatedWarnings:
    """The current warnings, by a key of the retried operation."""

    def __init__(self, log: logging.Logger | logging.LoggerAdapter[logging.Logger]) -> None:
        self._log = log
        self._logged: set[str] = set()

    def warn(self, key: str, text: str) -> None:
        if key not in self._logged:
            self._logged.add(key)
            self._log.warning("%s", text)

    def resolved(self, key: str) -> bool:
        """Forget the warning. Returns whether there was one."""
        was = key in self._logged
        self._logged.discard(key)
        return was
