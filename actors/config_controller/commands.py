"""`supervise config history|rollback`: show which configurations were in force, and roll back to one.

Both use the checkpoints, so they work while the agent hangs or is down. The config controller performs a rollback at
once, or at the next start of the agent.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from typing import Any, Final, TextIO

import msgspec

from actors.shared.config.agent import checkpoint_dir
from actors.shared.config.commands import Command
from actors.shared.config.errors import ConfigErrors, ConfigProblem, UsageErrors
from actors.shared.config.flags.parsing import parse_or_raise, positional
from actors.shared.config.loading import agent_flags
from actors.shared.config.sources.checkpoints import ConfigCheckpoints, HistoryEntry, State
from actors.shared.kube.times import rfc3339
from supervision.cli.command import REFUSED, CommandError
from supervision.cli.document import document_text
from supervision.cli.text import terminal_columns, wrapped
from supervision.cli.typed_commands import as_root

from .trial import entry_text

WAIT_SECONDS = 5.0


def history(words: Sequence[str], form: str, out: TextIO) -> int:
    """Print the history of configurations, oldest first. Takes the flags of start; --root-dir selects the agent."""
    names, flags = positional(words)
    if names:
        raise UsageErrors([ConfigProblem("history", names[0], "one argument too many: it takes --root-dir only")])
    store = _readable(flags)
    state = store.state()
    if not state.history:
        sys.stderr.write(f"note: {_no_history(store)}\n")
    if form:
        out.write(document_text(_document(state), form) + "\n")
        return 0
    columns = terminal_columns(out)
    entries = [line for entry in state.history for line in f"{_date(entry)}  {entry_text(entry)}".split("\n")]
    for line in (*entries, *_summary(state)):
        out.write("\n".join(wrapped(line, columns, "    ", "")) + "\n")
    return 0


def rollback(words: Sequence[str], form: str, out: TextIO) -> int:
    """Roll back to the configuration with this hash, or to the last known good one. Waits for the agent to apply it."""
    names, flags = positional(words)
    if names[1:]:
        raise UsageErrors([ConfigProblem("rollback", names[1], "one argument too many: it takes one HASH")])
    name = names[0] if names else ""
    store = _readable(flags)
    state = store.state()
    if not state.history:
        raise ConfigErrors([ConfigProblem("rollback", "", _no_history(store))])
    target = name or state.last_known_good
    if not target:
        rule = "no configuration has outlived its trial yet: name one of `supervise config history` by its hash"
        raise ConfigErrors([ConfigProblem("rollback", "", rule)])
    if store.layers(target) is None:
        known = ", ".join(dict.fromkeys(entry.hash for entry in state.history if entry.hash)) or "none"
        raise ConfigErrors([ConfigProblem("rollback", "", f"there is no configuration {target}; known: {known}")])
    if state.current == target:
        out.write(f"{target} is in force: nothing to roll back\n")
        return 0
    store.request(target)
    end = time.monotonic() + WAIT_SECONDS
    while time.monotonic() < end:
        state = store.state()
        if state.current == target:
            out.write(f"rolled back to {target}\n")
            return 0
        time.sleep(0.05)
    out.write(f"the rollback to {target} is ordered; no agent has performed it yet\n")
    return 0


def _readable(flags: list[str]) -> ConfigCheckpoints:
    """The checkpoints of the agent that the flags name. Raises UsageErrors, ConfigErrors; CommandError if this user may
    not read them."""
    given: dict[str, Any] = parse_or_raise(flags).values
    own = agent_flags(given, os.getcwd())
    directory = checkpoint_dir(own)
    try:
        os.listdir(directory)
    except FileNotFoundError:
        pass
    except PermissionError:
        text = f"permission denied: {directory} is another user's; try `{as_root(own['root-dir'])}`"
        raise CommandError(REFUSED, text) from None
    except OSError as error:
        raise ConfigErrors([ConfigProblem(directory, "", f"cannot be read: {error.strerror}")]) from None
    return ConfigCheckpoints(directory, owned=False)


def _no_history(store: ConfigCheckpoints) -> str:
    """Why there is no history."""
    begins = "so the history is lost; the next start of the agent begins a new one"
    if damaged := store.take_damaged():
        return f"{store.directory / damaged[0]} is damaged, {begins}"
    damaged_path = store.directory / "state.json.damaged"
    if damaged_path.exists():
        return f"{damaged_path} was damaged and set aside, {begins}"
    return f"{store.directory}: no configuration has been in force there yet: is this the --root-dir of the agent?"


def _date(entry: HistoryEntry) -> str:
    return rfc3339(entry.when)


def _document(state: State) -> dict[str, Any]:
    """The state with its times as texts, '' for none, as in the documents of other commands."""
    document: dict[str, Any] = msgspec.to_builtins(state)
    for shown, entry in zip(document["history"], state.history, strict=True):
        shown["when"] = _date(entry)
    document["trial_until"] = rfc3339(state.trial_until) if state.trial_until > 0 else ""
    return document


def _summary(state: State) -> list[str]:
    lines = [f"in force: {state.current or '-'}", f"last known good: {state.last_known_good or '-'}"]
    if state.trial_until > 0:
        lines.append(f"on trial until: {rfc3339(state.trial_until)}")
    if state.bad:
        lines.append(f"rolled back before: {', '.join(state.bad)}")
    return lines


MORE: Final[dict[str, Command]] = {"history": history, "rollback": rollback}
