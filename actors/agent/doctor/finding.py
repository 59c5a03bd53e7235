"""The result of a check."""

from __future__ import annotations

import re
import shlex
from enum import StrEnum
from typing import Final

import msgspec

from supervision.cli.command import DEFAULT_ROOT_DIR

_COMMANDS: Final = re.compile(r"\bsupervise (?!start\b|config explain\b)(?:(?!: )[^;`()])*[^:;`()\s]")
"""The commands of a remedy that ask an agent: `start` names its own directory, `config explain` asks no agent. The
purpose of a command may follow after a colon."""

_PROGRAM: Final = re.compile(r"(sudo |)\bsupervise(?= [a-z])")


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


def for_agent(finding: Finding, root_dir: str, typed: str = "supervise", as_root: str = "supervise") -> Finding:
    """The same finding with the commands of its remedy as the user must type them: with the option that names the agent
    in `root_dir`, and beginning with `typed` or, after sudo, with `as_root`, by which the shell finds `supervise`.

    An environment variable cannot replace the option, because sudo drops it."""
    option = "" if root_dir == DEFAULT_ROOT_DIR else f" --root-dir {shlex.quote(root_dir)}"
    named = _COMMANDS.sub(lambda found: found[0] if "--root-dir" in found[0] else f"{found[0]}{option}", finding.remedy)
    return msgspec.structs.replace(
        finding, remedy=_PROGRAM.sub(lambda at: at[1] + (as_root if at[1] else typed), named)
    )
