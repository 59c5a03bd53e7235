"""`supervise logs`: the lines of one actor, or of a supervisor and all below it, from the agent's log."""

from __future__ import annotations

import argparse
import errno
import sys
import time
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Final

from ..logs import actor_of
from ..protocol import FORK_SERVER, Done, SetLogLevel, Tree
from .argument_types import ALL_LINES
from .command import NO_ANSWER, NOT_RUNNING, OK, REFUSED, USAGE, CommandError, Context
from .line_array import LineArray
from .log_sources import journal_unit, of_file, of_journal, stderr_file
from .log_times import younger
from .text import duration, plain
from .tree import is_of

DEFAULT_LINES: Final = 100
TO_STDERR_ONLY: Final = (
    "the agent logs to stderr only, which is neither a file nor the journal: see what runs it, or start it with "
    "--log-file FILE"
)
_OF_OUTPUT: Final = (errno.EPIPE, errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""Errors of the output: no log that is read has them."""
Source = AbstractContextManager[tuple[Iterator[str], Iterator[str]]]


def run(context: Context) -> int:
    if context.arguments.level is not None:
        return _set_level(context)
    refuse_followed_document(context)
    now = time.time()
    least = now - context.arguments.since if context.arguments.since else 0.0
    source, name, actor = _source_and_actor(context, least)
    try:
        with source as (there, coming):
            wanted = of_actor(younger(there, least, now) if least else there, actor)
            number = lines_of(context.arguments)
            last = wanted if number == ALL_LINES else deque(wanted, maxlen=number)
            if context.form:
                _print_document(last, context.form)
            else:
                _print_lines(context, last, of_actor(coming, actor), name, actor)
    except OSError as error:
        if error.errno in _OF_OUTPUT:
            raise
        raise CommandError(REFUSED, f"{name} cannot be read: {error.strerror}") from None
    return OK


def _print_document(lines: Iterable[str], form: str) -> None:
    array = LineArray(sys.stdout, form)
    for line in lines:
        array.add(line)
    array.end()


def _print_lines(context: Context, last: Iterable[str], coming: Iterable[str], name: str, actor: str) -> None:
    """`last`: the lines that are there; `coming`: those that are written later; `name`: of their source."""
    arguments = context.arguments
    are_there = lines_of(arguments) == 0
    for line in last:
        are_there = True
        print(plain(line))  # noqa: T201
    if not are_there and not arguments.follow:
        print(f"supervise: {_no_lines_text(actor, arguments.since)} in {name}", file=sys.stderr)  # noqa: T201
    sys.stdout.flush()  # --follow starts at the end of the file
    for line in coming:
        print(plain(line), flush=True)  # noqa: T201


def refuse_followed_document(context: Context) -> None:
    """Raises CommandError for -f with -o json or yaml: the lines are one array, which would never end."""
    if context.form and context.arguments.follow:
        text = f"-f and -o {context.form} exclude each other: that is one array of the lines there are"
        raise CommandError(USAGE, text)


def lines_of(arguments: argparse.Namespace) -> int:
    """The number of lines to show, or ALL_LINES. With --since it is all, unless a number is given."""
    if isinstance(arguments.lines, int):
        return arguments.lines
    return ALL_LINES if arguments.since else DEFAULT_LINES


def _no_lines_text(actor: str, since: float) -> str:
    """The text to print when there are no lines."""
    return f"no lines{f' of {actor}' if actor else ''}{f' of the last {duration(since)}' if since else ''}"


def of_actor(lines: Iterable[str], wanted: str) -> Iterator[str]:
    """The lines of that actor and of those below it; all lines for ''. The end of its name is enough. A line without an
    actor belongs to the line before."""
    selected = not wanted
    for line in lines:
        text = line.rstrip("\n")
        actor = actor_of(text)
        if actor:
            selected = not wanted or is_of(actor, wanted)
        if selected:
            yield text


def _source_and_actor(context: Context, least: float) -> tuple[Source, str, str]:
    """The source of the log, its name, and the full name of the actor ('': of all). Raises CommandError."""
    actor: str = context.arguments.actor
    follow = context.arguments.follow
    if context.arguments.file:
        return of_file(Path(context.arguments.file), follow=follow), context.arguments.file, actor
    try:
        tree = context.tree()
    except CommandError as error:
        return _of_last_start(context, error)
    if actor and actor != FORK_SERVER:
        actor = context.full_name(actor, tree)
    if file := file_of(tree):
        return of_file(Path(file), follow=follow), file, actor
    if unit := journal_unit(tree.pid):
        return of_journal(unit, follow=follow, since=least), f"the journal of {unit}", actor
    raise CommandError(REFUSED, TO_STDERR_ONLY)


def _of_last_start(context: Context, error: CommandError) -> tuple[Source, str, str]:
    """The log of the agent that does not run any more, or does not answer. Raises the error if none is known."""
    follow: bool = context.arguments.follow
    last = context.files.last_start() if error.code in (NOT_RUNNING, NO_ANSWER) else None
    if last is None or not last.log_file or (follow and error.code == NOT_RUNNING):
        raise error
    text = f"{error}; this is {last.log_file}"
    if error.code == NOT_RUNNING:
        text = f"no agent runs; this is {last.log_file}, the log of the last one"
    print(f"supervise: {text}", file=sys.stderr)  # noqa: T201
    return of_file(Path(last.log_file), follow=follow), last.log_file, context.arguments.actor


def file_of(tree: Tree) -> str:
    """The agent's log file, else the file that takes its stderr; '' if it has neither."""
    return tree.log_file or stderr_file(tree.pid)


def _set_level(context: Context) -> int:
    name, level = context.arguments.actor, context.arguments.level
    if not name:
        raise CommandError(REFUSED, "--level needs an actor: `supervise logs ACTOR --level N`")
    name = context.full_name(name, context.tree())
    context.ask(SetLogLevel(level), Done, name=name)
    context.show({"actor": name, "level": level}, f"{name} now logs up to V({level}), until it is replaced")
    return OK
