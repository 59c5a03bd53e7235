"""The fork server's signal handling: two signals stop it, one logs its state, others are ignored."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from typing import Final

from ..protocol import Tree
from .loop import Loop

STOP: Final = (signal.SIGTERM, signal.SIGINT)
DUMP: Final = signal.SIGUSR1
IGNORED: Final = (
    signal.SIGHUP,
    signal.SIGUSR2,
    signal.SIGALRM,
    signal.SIGVTALRM,
    signal.SIGPROF,
    signal.SIGIO,
    signal.SIGPWR,
)
"""Signals whose default action ends the process. One sent by mistake must not end the agent."""


def handle(loop: Loop, *, stop: Callable[[], None], dump: Callable[[], None], reap: Callable[[], None]) -> None:
    """Install the handlers in the loop; children do not inherit them (fork.py)."""
    for number in STOP:
        loop.on_signal(number, stop)
    loop.on_signal(DUMP, dump)
    loop.on_signal(signal.SIGCHLD, reap)
    for number in IGNORED:
        signal.signal(number, signal.SIG_IGN)


def restore_defaults() -> None:
    """In a child: restore the default actions, except for the stop signals."""
    for number in (signal.SIGCHLD, DUMP, *IGNORED):
        signal.signal(number, signal.SIG_DFL)


def state_lines(tree: Tree) -> Iterator[str]:
    """The state of the agent, as lines for the log."""
    yield (
        f"state of the agent: {tree.state}, pid {tree.pid}, up {tree.uptime:.0f} s, {tree.disposables} disposable "
        f"processes, {tree.abandoned} abandoned"
    )
    for actor in tree.actors:
        doing = f", in {actor.message} for {actor.busy_seconds:.1f} s" if actor.message else ""
        incident = f", last incident {actor.last_incident}" if actor.last_incident else ""
        yield (
            f"{actor.name}: {actor.state}, pid {actor.pid}, incarnation {actor.incarnation}, last heartbeat "
            f"{actor.heartbeat_age:.1f} s ago, {actor.mailbox} messages waiting, {actor.outgoing} to be sent, "
            f"{actor.tasks} tasks{doing}{incident}"
        )
