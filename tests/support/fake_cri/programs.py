"""What a command line would do, for the few that tests use: true, false, echo, sleep, and `sh -c` of them.

`sh -c` takes `exit N`, `sleep S`, `echo TEXT`, `echo TEXT >&2` and `trap '...' TERM`, joined by `;` or `&&`. Everything
else runs until it is stopped; a command with `missing` in its path does not exist.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Program:
    """Prints, then runs for `seconds` (None: until it is stopped), then ends with `exit_code`."""

    seconds: float | None = None
    exit_code: int = 0
    stdout: str = ""
    stderr: str = ""
    heeds_term: bool = True
    """The first process of a container ignores SIGTERM unless it handles it."""
    term_code: int = 143
    """The exit code after a SIGTERM that it heeds."""
    exists: bool = True


def program_of(argv: Sequence[str]) -> Program:
    """An empty command line is the image's own program, which heeds SIGTERM."""
    if not argv:
        return Program()
    name = argv[0].rsplit("/", 1)[-1]
    if "missing" in argv[0]:
        return Program(exists=False)
    if name == "sh" and list(argv[1:2]) == ["-c"] and len(argv) > 2:
        return _script(argv[2])
    if name == "sleep":
        return Program(seconds=_seconds(argv[1]), heeds_term=False)
    if name == "echo":
        return Program(seconds=0, stdout=" ".join(argv[1:]) + "\n")
    if name in ("true", "false"):
        return Program(seconds=0, exit_code=int(name == "false"))
    return Program()


def _seconds(text: str) -> float | None:
    return float(text) if text.replace(".", "", 1).isdigit() and float(text) < 1e6 else None


def _script(text: str) -> Program:
    seconds: float | None = 0.0
    exit_code, stdout, stderr, heeds_term, term_code = 0, "", "", False, Program.term_code
    for step in text.replace("&&", ";").split(";"):
        words = shlex.split(step)
        if not words:
            continue
        if words[0] == "trap":
            heeds_term = True
            handler = shlex.split(words[1])
            term_code = int(handler[1]) if handler[:1] == ["exit"] and len(handler) > 1 else term_code
        elif words[0] == "exit":
            exit_code = int(words[1]) if len(words) > 1 else 0
            break
        elif words[0] == "echo" and words[-1] == ">&2":
            stderr += " ".join(words[1:-1]) + "\n"
        elif words[0] == "echo":
            stdout += " ".join(words[1:]) + "\n"
        elif words[0] == "sleep":
            pause = _seconds(words[1])
            seconds = None if pause is None or seconds is None else seconds + pause
        else:
            seconds = None  # something that goes on
    return Program(seconds, exit_code, stdout, stderr, heeds_term, term_code=term_code)
