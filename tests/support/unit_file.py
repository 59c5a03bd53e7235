"""A service of systemd's as far as it matters here: the command that its drop-in makes of environment and files."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path

Locate = Callable[[str], str]
"""Where the file of this absolute path is in the test."""


def command_of(drop_in: str, locate: Locate = lambda path: path) -> list[str]:
    """The words of the last ExecStart. As systemd.exec(5) has it: a later value wins, `$NAME` is split into words, a
    file whose name begins with `-` may be missing."""
    environment: dict[str, str] = {}
    command = ""
    for line in drop_in.splitlines():
        key, mark, value = line.partition("=")
        if not mark or line.startswith("#"):
            continue
        if key == "Environment":
            environment |= _assignments(value)
        elif key == "EnvironmentFile":
            environment |= _file(value, locate)
        elif key == "ExecStart":
            command = value
    return [word for item in shlex.split(command) for word in _words(item, environment)]


def _file(value: str, locate: Locate) -> dict[str, str]:
    path = Path(locate(value.removeprefix("-")))
    if not path.exists():
        assert value.startswith("-"), f"{path} is missing"
        return {}
    lines = path.read_text().splitlines()
    return _assignments(" ".join(line for line in lines if line.strip() and not line.startswith("#")))


def _assignments(text: str) -> dict[str, str]:
    return dict(word.split("=", 1) for word in shlex.split(text))


def _words(item: str, environment: dict[str, str]) -> list[str]:
    name = re.fullmatch(r"\$(\w+)", item)
    return shlex.split(environment.get(name[1], "")) if name else [item]
