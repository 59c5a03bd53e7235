"""The problems of a command line or a configuration: all of them, each with its source."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from .url_passwords import without_passwords


class ConfigProblem(msgspec.Struct, frozen=True):
    """A broken rule."""

    path: str
    """Field path as in JSON (`authentication.webhook.cacheTTL`), or a flag (`--node-ip`), or '' for a whole file."""
    value: str
    """The invalid value as JSON, shortened if very long; '' if there is none or it is a secret."""
    rule: str
    """The rule."""
    source: str = ""
    """The source of the value: a file with line, or a flag."""
    damaged: str = ""
    """The path of a damaged state file, which keeps the agent from starting until it is deleted."""

    def __str__(self) -> str:
        subject = self.path + (f" = {self.value}" if self.value else "")
        if not subject:
            return f"{self.source}: {self.rule}" if self.source else self.rule
        text = f"{subject}: {self.rule}"
        return f"{text} (from {self.source})" if self.source and self.source != self.path else text


class ConfigErrors(Exception):
    """The configuration is invalid. `problems` lists every problem."""

    def __init__(self, problems: Iterable[ConfigProblem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))


class UsageErrors(ConfigErrors):
    """The words of a command are wrong, whatever the configuration is."""


_SECRET_FIELDS = ("staticPodURLHeader", "--manifest-url-header")
MASKED = "--- HIDDEN ---"
_LONGEST = 256
"""Long enough for a path."""


def shown_at(path: str, value: object) -> str:
    """Like `shown`, but hidden if the field may contain a secret."""
    return MASKED if path.startswith(_SECRET_FIELDS) else shown(value)


def shown(value: object) -> str:
    """A value in a problem: short JSON on one line, a URL without its password."""
    try:
        text = msgspec.json.encode(value, enc_hook=str).decode()
    except (TypeError, ValueError, RecursionError, OverflowError):
        text = repr(value)
    text = without_passwords(text)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."
