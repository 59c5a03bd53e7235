"""`supervise logs`: the lines of one actor, or of a supervisor and all below it, from the agent's log file."""

from __future__ import annotations

import os
import stat
import sys
import time
from collections import deque
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TextIO

from ..logs import actor_of
from ..protocol import Done, SetLogLevel
from .command import OK, REFUSED, CommandError, Context, json_text

_POLL_SECONDS = 0.1


def run(context: Context) -> int:
    arguments = context.arguments
    if arguments.level is not None:
        return _set_level(context)
    path, actor = _file_and_actor(context)
    try:
        with path.open(errors="replace") as file:
            last = deque(of_actor(file, actor), maxlen=arguments.lines or None)
            if context.json:
                print(json_text(list(last)))  # noqa: T201
                return OK
            for line in last:
                print(line)  # noqa: T201
            sys.stdout.flush()  # --follow starts at the end of the file
            if arguments.follow:
                for line in of_actor(_follow(file, path), actor):
                    print(line, flush=True)  # noqa: T201
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            raise
        raise CommandError(REFUSED, f"{path} cannot be read: {error.strerror}") from None
    return OK


def of_actor(lines: Iterable[str], wanted: str) -> Iterator[str]:
    """The lines of that actor and of those below it; all lines for ''. A line without an actor belongs to the line
    before."""
    selected = not wanted
    for line in lines:
        text = line.rstrip("\n")
        actor = actor_of(text)
        if actor:
            selected = not wanted or actor == wanted or actor.startswith(f"{wanted}/")
        if selected:
            yield text


def _file_and_actor(context: Context) -> tuple[Path, str]:
    """Which file to read, and the full name of the actor ('': of all). Raises CommandError."""
    actor: str = context.arguments.actor
    if context.arguments.file:
        return Path(context.arguments.file), actor
    tree = context.tree()
    if actor:
        actor = context.full_name(actor, tree)
    if not tree.log_file:
        raise CommandError(REFUSED, to_stderr_only(stderr_file(tree.pid), actor))
    return Path(tree.log_file), actor


def to_stderr_only(file: str, actor: str) -> str:
    """Where the log of an agent without a log file is. `file`: what its stderr goes to, '' if that is no file."""
    command = f"`supervise logs {actor} --file {file}`" if actor else f"`supervise logs --file {file}`"
    where = command if file else "see what runs it (`journalctl`)"
    return f"the agent logs to stderr only: {where}, or start it with --log-file FILE"


def stderr_file(pid: int) -> str:
    """The regular file that the process has as its stderr; '' if that is a terminal, a pipe or not ours to know."""
    link = f"/proc/{pid}/fd/2"
    try:
        return os.readlink(link) if stat.S_ISREG(os.stat(link).st_mode) else ""
    except OSError:
        return ""


def _set_level(context: Context) -> int:
    name, level = context.arguments.actor, context.arguments.level
    if not name:
        raise CommandError(REFUSED, "--level needs an actor: `supervise logs ACTOR --level N`")
    name = context.full_name(name, context.tree())
    context.ask(SetLogLevel(level), Done, name=name)
    context.show({"actor": name, "level": level}, f"{name} now logs up to V({level}), until it is replaced")
    return OK


def _follow(file: TextIO, path: Path) -> Iterator[str]:
    """Complete lines as they are appended; after a rotation from the start of the new file."""
    partial = ""
    while True:
        partial += file.readline()
        if partial.endswith("\n"):
            yield partial
            partial = ""
            continue
        time.sleep(_POLL_SECONDS)
        try:
            found = os.stat(path)
        except FileNotFoundError:
            continue
        if found.st_size < file.tell():
            file.seek(0)
        elif found.st_ino != os.fstat(file.fileno()).st_ino:
            with path.open(errors="replace") as newer:
                yield from _follow(newer, path)
