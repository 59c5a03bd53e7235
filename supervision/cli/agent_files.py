"""The files of an agent that the subcommands read, and the agents beside it."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from ..client import Client
from ..errors import AskError
from ..messaging.names import PeerRefused
from ..protocol import GetTree, Tree
from .text import duration

_MINUTE: Final = 60
_MOST_NEIGHBOURS: Final = 32
_NEIGHBOUR_SECONDS: Final = 0.5
"""How long each neighbour has to answer."""


class LastStart(NamedTuple):
    """How an agent that does not run was started last."""

    flags: Sequence[str]
    directory: str
    """Where they were given; '' if it is not known."""
    log_file: str
    """'' if its log was in no file."""


class RefusedStart(NamedTuple):
    """The last start, which was refused."""

    at: float
    """Seconds since 1970."""
    problems: Sequence[str]

    def ago(self) -> str:
        """How long ago; `0s ago` if the clock was set back since."""
        seconds = max(0, int(time.time() - self.at))
        return f"{duration(seconds) if seconds >= _MINUTE else f'{seconds}s'} ago"


class AgentFiles(NamedTuple):
    """The files of one agent."""

    run_dir: Path
    incident_file: Path
    """The incident file, for when the agent does not run."""
    lock: Path | None = None
    """The agent's lock file; None: in run_dir."""
    run_dir_of_root: Path | None = None
    """The run directory that root's agent would have; None: not known."""
    last_start: Callable[[], LastStart | None] = lambda: None
    """How it was started last; None: not known."""
    refused_start: Callable[[], RefusedStart | None] = lambda: None
    """None: its last start was not refused."""
    unit: Callable[[int], str] = lambda pid: ""
    """The service of systemd whose main process has that pid; '' for none."""


def default_files(arguments: argparse.Namespace) -> AgentFiles:
    """All files below the root directory."""
    state = Path(arguments.root_dir) / "supervision"
    return AgentFiles(Path(arguments.run_dir or state), state / "incidents.jsonl")


def neighbours(run_dir: Path) -> Iterator[tuple[Path, Tree]]:
    """The run directories beside this one, with the same kind of name, whose agents answer."""
    kind = run_dir.name.partition("-")[0]
    for path in sorted(run_dir.parent.glob(f"{kind}*"))[:_MOST_NEIGHBOURS]:
        if path != run_dir and (tree := _tree_of(path)) is not None:
            yield path, tree


def _tree_of(run_dir: Path) -> Tree | None:
    try:
        client = Client(run_dir)
    except (AskError, OSError, PeerRefused):
        return None
    try:
        return client.ask(GetTree(memory=False), Tree, timeout=_NEIGHBOUR_SECONDS)
    except (AskError, OSError, PeerRefused):
        return None
    finally:
        client.close()
