"""The fork server's signal handling: two signals stop it, one logs its state, others are ignored."""

from __future__ import annotations

import _signal
import signal
from collections.abc import Callable, Iterator
from typing import Final

from ..protocol import Tree
from .early_signals import DUMP, NO_ORDERS, do_nothing
from .loop import Loop

STOP: Final = (signal.SIGTERM, signal.SIGINT)


def handle(loop: Loop, *, stop: Callable[[], None], dump: Callable[[], None], reap: Callable[[], None]) -> None:
    """Install the handlers in the loop; children do not inherit them (fork.py)."""
    for number in STOP:
        loop.on_signal(number, stop)
    loop.on_signal(signal.Signals(DUMP), dump)
    loop.on_signal(signal.SIGCHLD, reap)
    for useless in NO_ORDERS:
        signal.signal(useless, signal.SIG_IGN)


_HANDLED_NUMBERS: Final = (*(int(number) for number in STOP), DUMP, *NO_ORDERS)
_ALL_NUMBERS: Final = tuple(int(number) for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP})
_DEFAULT, _IGNORE, _SET_MASK = int(signal.SIG_DFL), int(signal.SIG_IGN), int(signal.SIG_SETMASK)


def in_child(*, handles_signals: bool) -> None:
    """In a child: undo what `handle` did. `handles_signals`: each signal has its default action, else those that stop
    the fork server or ask for its state, which `systemctl kill` sends to every process, and those that are no order,
    do nothing. Calls of the system that one interrupts are restarted.

    The functions of `signal` make an enum of each number, with an exception for each number that has none; those of
    `_signal`, which they call, make none. That writes to fewer of the pages that are shared with the fork server."""
    _signal.signal(int(signal.SIGCHLD), _DEFAULT)
    for number in _HANDLED_NUMBERS:
        _signal.signal(number, _DEFAULT if handles_signals else do_nothing)
        if not handles_signals:
            _signal.siginterrupt(number, False)


def before_program() -> None:
    """In a child that is about to be another program: every signal has its default action, and none is blocked."""
    for number in _ALL_NUMBERS:
        _signal.signal(number, _DEFAULT)
    _signal.pthread_sigmask(_SET_MASK, ())


def before_janitor() -> None:
    """In a child that is about to be the janitor, which outlives the fork server: what stops that, asks for its state,
    or is no order, is ignored, also by the programs that the janitor starts; no signal is blocked."""
    for number in _HANDLED_NUMBERS:
        _signal.signal(number, _IGNORE)
    _signal.pthread_sigmask(_SET_MASK, ())


def unblock(mask: set[signal.Signals | int]) -> None:
    """In a child: have this mask of blocked signals."""
    _signal.pthread_sigmask(_SET_MASK, mask)


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
