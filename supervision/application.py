"""The application's input to the engine: the tree, its policies, and the shared context of its actors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from .incidents.incident import UnwrittenIncidents
from .metrics import Metric
from .process_messages import Exited, Started
from .spec import ChildSpec, Policy


class IncidentSink(Protocol):
    """Keeps the record of faults; `incidents.py` has the real one. The fork server calls it, so it must not block."""

    def guard(self, guard: Callable[[Callable[[str], None]], None]) -> None:
        """Ask this before each write: it calls back with the reason why nothing may be written now, or ''."""

    def opened(self, exited: Exited) -> None:
        """A child failed: it ended without an order, or not as ordered."""

    def closed(self, started: Started, seconds: float) -> None:
        """The child is in service again, this long after its end."""

    def flush(self) -> None:
        """Called periodically: write the records that could not be written before."""

    def end(self) -> None:
        """The last call: write at once what still waits."""

    def unwritten(self) -> UnwrittenIncidents:
        """The records that could not be written yet."""


class NoIncidents:
    """Keeps no record."""

    def guard(self, guard: Callable[[Callable[[str], None]], None]) -> None:
        pass

    def opened(self, exited: Exited) -> None:
        pass

    def closed(self, started: Started, seconds: float) -> None:
        pass

    def flush(self) -> None:
        pass

    def end(self) -> None:
        pass

    def unwritten(self) -> UnwrittenIncidents:
        return UnwrittenIncidents()


class ShownFiles(NamedTuple):
    """Paths that the command line shows to users; the engine does not open them. '' for none."""

    log: str = ""
    incidents: str = ""
    policy: str = ""


class OwnDirectories(NamedTuple):
    """Directories that actors use on their own loops. No child is blamed, and none is replaced, while the disk of one
    hangs."""

    lock: Path | None = None
    """Holds the agent's lock: a directory that outlives `run_dir`. None: `run_dir` does."""
    written: tuple[str, ...] = ()
    """Their times are changed to find out whether they hang, and those of the lock's."""
    read: tuple[str, ...] = ()


class LastSteps(NamedTuple):
    """The final cleanup: removes what must not outlive the agent, even if the actor that made it was killed. It runs
    after every actor has ended, while the agent's lock is still held."""

    function: str = ""
    """`module:function` that a separate process calls with the context. Not called if the fork server is killed."""
    when_killed: tuple[str, ...] = ()
    """A program with its arguments, which runs instead when the fork server is killed. It must be short: the next start
    waits for it."""


@dataclass(frozen=True, kw_only=True)
class Application:
    """An application. All of it is known before the first fork and inherited by every actor."""

    name: str
    tree: ChildSpec
    """The root supervisor with everything below it."""
    policies: Mapping[str, Policy] = field(default_factory=dict)
    """By full name; an actor that is not listed has the default policy of its spec."""
    preload: tuple[str, ...] = ()
    """Modules that are imported once, before any actor is forked."""
    prepare: tuple[str, ...] = ()
    """Functions (`module:function`, without arguments) that are called once after the preload. They build what every
    actor needs and what takes time and memory to build. They open nothing and start no thread."""
    hot_functions: tuple[str, ...] = ()
    """Functions that actors run, as `module qualified_name`, the most common first. Their code is placed together to
    save memory (fork_server/code_layout.py)."""
    metrics: tuple[Metric, ...] = ()
    """Metrics that the actors make, besides the engine's own."""
    context: Any = None
    """Every actor's `self.context`."""
    refresh: str = ""
    """`module:function` that each actor's process calls with the context when it starts. It returns the current
    context, with the changes made since the fork server started. It must not raise."""
    at_end: LastSteps = field(default_factory=LastSteps)
    run_dir: Path
    """Holds the sockets. It is created if missing and belongs to the agent alone."""
    incidents: IncidentSink = field(default_factory=NoIncidents)
    dynamic: bool = False
    """Whether the tree grows by Thespian's createActor, without specs; dead letters then go to the actor that called
    Thespian's handleDeadLetters, not to their sender."""
    files: ShownFiles = field(default_factory=ShownFiles)
    directories: OwnDirectories = field(default_factory=OwnDirectories)
