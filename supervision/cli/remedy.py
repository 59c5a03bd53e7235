"""What mends a problem, as the user must type it."""

from __future__ import annotations

import re
import shlex
from typing import Final

from .command import DEFAULT_ROOT_DIR, program, program_of_root

_COMMANDS: Final = re.compile(r"\bsupervise (?!start\b|config explain\b)(?:(?!: )[^;`()])*[^:;`()\s]")
"""The commands of a remedy that ask an agent: `start` names its own directory, `config explain` asks no agent. The
purpose of a command may follow after a colon."""
_PROGRAM: Final = re.compile(r"(sudo |)(?<![\w/.-])supervise(?= [a-z])")


def typed(remedy: str, root_dir: str) -> str:
    """The remedy with its commands as the user of this process types them for the agent in `root_dir`."""
    return written(remedy, root_dir, program(), program_of_root())


def written(remedy: str, root_dir: str, own: str = "supervise", as_root: str = "supervise") -> str:
    """The remedy with the option that names the agent in `root_dir` in its commands, which begin with `own` or, after
    sudo, with `as_root`, by which the shell finds `supervise`. Pure.

    An environment variable cannot replace the option, because sudo drops it."""
    option = "" if root_dir == DEFAULT_ROOT_DIR else f" --root-dir {shlex.quote(root_dir)}"
    named = _COMMANDS.sub(lambda found: found[0] if "--root-dir" in found[0] else f"{found[0]}{option}", remedy)
    return _PROGRAM.sub(lambda at: at[1] + (as_root if at[1] else own), named)
