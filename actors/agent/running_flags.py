"""The flags of the agent that runs, or ran last: `doctor`, `config show` and `config check` take them when none are
given."""

from __future__ import annotations

import argparse
import contextlib
import os
import shlex
from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple, TextIO

from actors.config_controller.messages import CONFIG_CONTROLLER, Flagz, GetFlagz
from actors.shared.config.errors import MASKED
from actors.shared.config.flags import parsing
from actors.shared.config.paths import default_root_dir
from actors.shared.config.url_passwords import lacks_password
from supervision.cli.agent_files import AgentFiles
from supervision.cli.command import NOT_RUNNING, REFUSED, CommandError, Context
from supervision.protocol import Tree
from supervision.time_scale import scaled

_PLACES: Final = {"root-dir", "run-dir"}
"""The flags that identify the agent."""
_SECONDS: Final = 3.0


def of_agent(flagz: Flagz) -> list[str]:
    """The flags of the running agent, without those whose values it keeps secret."""
    shown = {name: flagz.flags[name] for name in flagz.given if name in flagz.flags}
    return [f"--{name}={value}" for name, value in shown.items() if value != MASKED and not lacks_password(value)]


def of_last_start(context: Context) -> list[str]:
    """The flags with which the agent that does not run was started last; empty if they are not known."""
    last = context.files.last_start()
    if last is None or not last.flags:
        return []
    named = any(flag.startswith("--root-dir=") for flag in last.flags)
    return [*([] if named else [f"--root-dir={context.arguments.root_dir}"]), *last.flags]


@contextlib.contextmanager
def where_it_started(tree: Tree | None, directory: str = "") -> Iterator[None]:
    """Change to the agent's working directory, because relative paths in its flags start there. `tree`: None if no
    agent runs; then `directory` is the one of its last start, '' if that is not known."""
    before = os.getcwd()
    if place := directory if tree is None else f"/proc/{tree.pid}/cwd":
        with contextlib.suppress(OSError):
            os.chdir(place)
    try:
        yield
    finally:
        os.chdir(before)


class CommandLine(NamedTuple):
    """The effective flags of a command line."""

    flags: Sequence[str]
    """The flags to load."""
    context: Context | None = None
    """A connection to the running agent, if the flags are its own."""
    flagz: Flagz | None = None
    """The answer of that agent."""


@contextlib.contextmanager
def as_started(
    words: Sequence[str], where: Callable[[argparse.Namespace], AgentFiles], notes: TextIO
) -> Iterator[CommandLine]:
    """The flags to load. If the words only name an agent, the flags with which it runs, or was started last, replace
    them, and are read in its working directory. A line about that is written to `notes`. Raises CommandError if this
    user may not ask the running agent."""
    given = parsing.parse(words)
    if given.problems or not given.values.keys() <= _PLACES:
        yield CommandLine(words)
        return
    root_dir = os.path.abspath(given.values.get("root-dir") or default_root_dir())
    run_dir = given.values.get("run-dir") or ""
    arguments = argparse.Namespace(root_dir=root_dir, run_dir=run_dir, output="text", timeout=scaled(_SECONDS))
    context = Context(arguments, where)
    try:
        tree = context.tree()
        flagz = context.ask(GetFlagz(), Flagz, name=CONFIG_CONTROLLER)
    except CommandError as error:
        if error.code == REFUSED:
            raise
        if error.code != NOT_RUNNING:
            notes.write(f"note: the flags of the agent that runs are not known, so none are taken: {error}\n")
            yield CommandLine(words)
            return
        known = of_last_start(context)
        with where_it_started(None, last.directory if (last := context.files.last_start()) else ""):
            if known:
                notes.write(f"note: no agent runs; with the flags of its last start: {shlex.join(known)}\n")
            else:
                text = "no agent runs, and how it was started is not known: these are the defaults; give its flags"
                notes.write(f"note: {text}, such as --config=FILE\n")
            yield CommandLine(known or words)
        return
    flags = of_agent(flagz)
    notes.write(f"note: with the flags of the agent that runs, pid {tree.pid}: {shlex.join(flags)}\n")
    with where_it_started(tree):
        yield CommandLine(flags, context, flagz)
