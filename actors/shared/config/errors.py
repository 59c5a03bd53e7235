"""What is wrong with a command line or a configuration: every problem at once, each with where it came from."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec


class Problem(msgspec.Struct, frozen=True):
    """One broken rule."""

    path: str
    """Field path as in JSON (`authentication.webhook.cacheTTL`), or a flag (`--node-ip`), or '' for a whole file."""
    value: str
    """The offending value as JSON, cut where it is very long; '' where there is none or it is a secret."""
    rule: str
    """What must hold."""
    source: str = ""
    """The file with line, or the flag, that gave the value."""

    def __str__(self) -> str:
        subject = self.path + (f" = {self.value}" if self.value else "")
        text = f"{subject}: {self.rule}" if subject else self.rule
        return f"{text} (from {self.source})" if self.source and self.source != self.path else text


class ConfigErrors(Exception):
    """The configuration cannot be used. `problems` is all that is wrong with it, not only the first."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))


_SECRET_FIELDS = ("staticPodURLHeader", "--manifest-url-header")
MASKED = "--- HIDDEN ---"
_LONGEST = 256
"""Enough for a path, so that one can see which file it is."""


def shown_at(path: str, value: object) -> str:
    """The same, hidden where the field may hold a secret."""
    return MASKED if path.startswith(_SECRET_FIELDS) else shown(value)


def shown(value: object) -> str:
    """A value as a problem shows it: JSON, short, on one line."""
    try:
        text = msgspec.json.encode(value, enc_hook=str).decode()
    except (TypeError, ValueError, RecursionError, OverflowError):
        text = repr(value)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."
