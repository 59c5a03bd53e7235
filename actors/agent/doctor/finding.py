"""The result of a check."""

from __future__ import annotations

from enum import StrEnum

import msgspec


class Level(StrEnum):
    OK = "ok"
    WARNING = "warning"
    """The node may be Ready, but something does not or will not work."""
    FAILURE = "failure"
    """The node cannot be Ready, or no pod can run."""
    UNKNOWN = "unknown"
    """The check could not be made; the text has the reason."""


class Finding(msgspec.Struct, frozen=True):
    """The result of one check."""

    subject: str
    """The subject of the check: `container runtime`, `disk`, ..."""
    level: Level
    text: str
    remedy: str = ""
    """The remedy, preferably a command."""


def ok(subject: str, text: str) -> Finding:
    return Finding(subject, Level.OK, text)


def warning(subject: str, text: str, remedy: str) -> Finding:
    return Finding(subject, Level.WARNING, text, remedy)


def failure(subject: str, text: str, remedy: str) -> Finding:
    return Finding(subject, Level.FAILURE, text, remedy)


def unknown(subject: str, text: str) -> Finding:
    return Finding(subject, Level.UNKNOWN, text)
