"""Warnings about what is tried again and again: each is logged once, until the thing has gone well."""

from __future__ import annotations

import logging


class Complaints:
    """By a key of what is tried again and again."""

    def __init__(self, log: logging.Logger | logging.LoggerAdapter[logging.Logger]) -> None:
        self._log = log
        self._said: set[str] = set()

    def say(self, key: str, text: str) -> None:
        if key not in self._said:
            self._said.add(key)
            self._log.warning("%s", text)

    def well(self, key: str) -> bool:
        """Whether it was not, until now."""
        was = key in self._said
        self._said.discard(key)
        return was
