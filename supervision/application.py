"""What an application gives the engine: the tree, how it is supervised, and what its actors share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from .metrics import Metric
from .protocol import Exited, Started
from .spec import ChildSpec, Policy


class IncidentSink(Protocol):
    """Who keeps the record of faults; `incidents.py` has the real one. Called in the fork server: must not block."""

    def opened(self, exited: Exited) -> None:
        """A child ended that was not asked to, or not in the way it was asked to."""

    def closed(self, started: Started, seconds: float) -> None:
        """It is in service again, so long after it ended."""

    def flush(self) -> None:
        """Called now and then: write what could not be written before."""


class NoIncidents:
    """Keeps none."""

    def opened(self, exited: Exited) -> None:
        pass

    def closed(self, started: Started, seconds: float) -> None:
        pass

    def flush(self) -> None:
        pass


@dataclass(frozen=True, kw_only=True)
class Application:
    """All of it is known before the first fork, and inherited by every actor."""

    name: str
    tree: ChildSpec
    """The root supervisor with everything below it."""
    policies: Mapping[str, Policy] = field(default_factory=dict)
    """By full name; an actor that is missing has the default one."""
    preload: tuple[str, ...] = ()
    """Modules that are imported once, before any actor is forked."""
    prepare: tuple[str, ...] = ()
    """Functions (`module:function`, without arguments) that are called once after that: what takes time and memory to
    make, and every actor would otherwise make for itself. They open nothing and start no thread."""
    metrics: tuple[Metric, ...] = ()
    """Metrics that the actors make, besides the engine's own."""
    context: Any = None
    """What every actor finds as `self.context`."""
    refresh: str = ""
    """`module:function` that each actor's process calls with the context when it starts. It returns the context with
    the changes since the fork server was started. It must not raise."""
    run_dir: Path
    """Sockets; made when it is missing, and the agent's alone."""
    lock_dir: Path | None = None
    """Where the lock is that one agent holds: a directory that outlives `run_dir`; None: `run_dir`."""
    incidents: IncidentSink = field(default_factory=NoIncidents)
    dynamic: bool = False
    """Whether dead letters go to the actor that called Thespian's handleDeadLetters, rather than to their sender; and
    whether many actors are created that are in no spec."""
    log_file: str = ""
    incident_file: str = ""
    policy_file: str = ""
    """The three are only shown."""
