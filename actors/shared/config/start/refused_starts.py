"""The last start that was refused, in a file beside the run directory, until a start succeeds: `status` and `doctor`
show its errors, which under a service manager nobody saw. A refused start leaves nothing in the root directory."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from actors.shared.config.flags import parsing
from actors.shared.config.flags.run_once import given_flags
from actors.shared.config.loading import agent_flags
from actors.shared.config.paths import run_dir_of, state_dir_of
from supervision.fork_server.lock import holder_of
from supervision.state_file import DamagedError, StateFile, decode_versioned, read_private

from .start_records import flags_as_given

_MOST_PROBLEMS: Final = 64
_LONGEST: Final = 4096


class RefusalRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A start that was refused."""

    at: float
    """Seconds since 1970."""
    problems: tuple[str, ...]
    """As they were said, the first ones of very many."""
    flags: tuple[str, ...] = ()
    """As they were given, paths from the root, without those that are secret or cannot be read."""
    directory: str = ""
    """Where they were given."""


def file_of(run_dir: str) -> Path:
    """The file for the agent with this run directory."""
    return Path(f"{run_dir}-refused")


def record(argv: Sequence[str], problems: Sequence[str]) -> None:
    """Record that the start with these words was refused. Not while an agent runs there: then it concerns only who
    typed it. What cannot be written is not recorded."""
    parsed = parsing.parse(argv)
    with suppress(OSError):
        place = os.getcwd()
        values = agent_flags(parsed.values, place)
        root_dir = os.path.normpath(values["root-dir"])
        run_dir = str(values["run-dir"] or run_dir_of(root_dir))
        if any(_is_held(directory) for directory in (run_dir, state_dir_of(root_dir))):
            return
        flags = given_flags(tuple(flags_as_given(parsed.written, values)))
        said = tuple(problem[:_LONGEST] for problem in problems[:_MOST_PROBLEMS])
        refused = RefusalRecord(at=time.time(), problems=said, flags=tuple(flags), directory=place)
        _file(run_dir).save(refused)


def forget(run_dir: str) -> None:
    """A start has succeeded."""
    with suppress(OSError):
        _file(run_dir).remove()


def last_of(run_dir: str) -> RefusalRecord | None:
    """None: the last start was not refused, or it is not known."""
    try:
        return decode_versioned(read_private(file_of(run_dir)), RefusalRecord, 1)
    except (OSError, DamagedError):
        return None


def _is_held(directory: str) -> bool:
    """Whether an agent runs there; not if its disk hangs: one that runs holds its run directory, too. Raises
    OSError."""
    try:
        return bool(holder_of(Path(directory)))
    except TimeoutError:
        return False


def _file(run_dir: str) -> StateFile[RefusalRecord]:
    return StateFile(file_of(run_dir), RefusalRecord, sync=False)
