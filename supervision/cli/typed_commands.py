"""`supervise` commands in texts, as the user of this process must type them."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
from typing import Final

DEFAULT_ROOT_DIR: Final = "/var/lib/kubelet"
_IN_BACKTICKS: Final = re.compile(r"(?:(?<=`)|(?<=&& ))supervise(?= )")
_COMMANDS: Final = re.compile(r"\bsupervise (?!start\b|config explain\b)(?:(?!: )[^;`()])*[^:;`()\s]")
"""The commands of a remedy that ask an agent: `start` names its own directory, `config explain` asks no agent. The
purpose of a command may follow after a colon."""
_PROGRAM: Final = re.compile(r"(sudo |)(?<![\w/.-])supervise(?= [a-z])")


def program() -> str:
    """How to call `supervise` again: `supervise` if the shell finds it, else its path."""
    path = sys.argv[0]
    if os.path.basename(path) != "supervise":
        return "supervise"
    found = shutil.which("supervise")
    same = found is not None and os.path.exists(path) and os.path.samefile(found, path)
    return "supervise" if same else shlex.quote(path)


def program_of_root() -> str:
    """How to call `supervise` after `sudo`, which has its own PATH."""
    path = sys.argv[0]
    known = path.endswith(".py") or os.path.dirname(path) in ("", "/usr/bin", "/usr/local/bin")
    return "supervise" if known else shlex.quote(path)


def as_root(root_dir: str) -> str:
    """The command of this process as root would type it, for the agent in `root_dir`, which is named because sudo
    passes no environment variable on."""
    words = sys.argv[1:]
    named = any(word.startswith(("--root-dir", "--run-dir")) for word in words)
    option = [] if named or root_dir == DEFAULT_ROOT_DIR else ["--root-dir", root_dir]
    return f"sudo {program_of_root()} {shlex.join([*words, *option])}"


def as_typed(text: str) -> str:
    """The text, with `supervise` in its commands (between backticks) replaced by what the user types for it."""
    typed = program()
    return text if typed == "supervise" else _IN_BACKTICKS.sub(lambda _: typed, text)


def remedy_as_typed(remedy: str, root_dir: str) -> str:
    """The remedy with its commands, which are not between backticks, as the user types them for the agent in
    `root_dir`."""
    return remedy_for(remedy, root_dir, program(), program_of_root())


def remedy_for(remedy: str, root_dir: str, own: str = "supervise", of_root: str = "supervise") -> str:
    """The remedy with the option that names the agent in `root_dir` in each command. `own`: what stands for
    `supervise`; `of_root`: what stands for it after sudo. Pure.

    An environment variable cannot replace the option, because sudo drops it."""
    option = "" if root_dir == DEFAULT_ROOT_DIR else f" --root-dir {shlex.quote(root_dir)}"
    named = _COMMANDS.sub(lambda found: found[0] if "--root-dir" in found[0] else f"{found[0]}{option}", remedy)
    return _PROGRAM.sub(lambda at: at[1] + (of_root if at[1] else own), named)
