"""What a check finds."""

from __future__ import annotations

import re
import shlex
from enum import StrEnum
from typing import Final

import msgspec

_COMMANDS: Final = re.compile(r"\bsupervise (?!start\b|config explain\b)(?:(?!: )[^;`()])*[^:;`()\s]")
"""Those in a remedy that ask one agent: `start` names its directory, `config explain` asks none. What they are for may
follow a colon."""


class Level(StrEnum):
    OK = "ok"
    WARNING = "warning"
    """The node may be Ready, but something does not or will not work."""
    FAILURE = "failure"
    """The node cannot be Ready, or no pod can run."""
    UNKNOWN = "unknown"
    """It could not be checked, and why."""


class Finding(msgspec.Struct, frozen=True):
    """The result of one check."""

    subject: str
    """What was checked: `container runtime`, `disk`, ..."""
    level: Level
    text: str
    remedy: str = ""
    """What to do about it, best as a command."""


def ok(subject: str, text: str) -> Finding:
    return Finding(subject, Level.OK, text)


def warning(subject: str, text: str, remedy: str) -> Finding:
    return Finding(subject, Level.WARNING, text, remedy)


def failure(subject: str, text: str, remedy: str) -> Finding:
    return Finding(subject, Level.FAILURE, text, remedy)


def unknown(subject: str, text: str) -> Finding:
    return Finding(subject, Level.UNKNOWN, text)


def for_agent(finding: Finding, root_dir: str) -> Finding:
    """The same; each command of its remedy names the agent in `root_dir`, which is not the default one."""
    option = f"--root-dir {shlex.quote(root_dir)}"
    return msgspec.structs.replace(finding, remedy=_COMMANDS.sub(lambda found: f"{found[0]} {option}", finding.remedy))
