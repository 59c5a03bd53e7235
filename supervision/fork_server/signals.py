"""The fork server's signal handling: two signals stop it, one logs its state, others are ignored."""

from __future__ import annotations

import _signal
import signal
from collections.abc import Callable, Iterator
from typing import Final

from ..protocol import Tree
from .loop import Loop

STOP: Final = (signal.SIGTERM, signal.SIGINT)
DUMP: Final = signal.SIGUSR1
_FAULTS: Final = {
    signal.SIGQUIT,
    signal.SIGILL,
    signal.SIGTRAP,
    signal.SIGABRT,
    signal.SIGBUS,
    signal.SIGFPE,
    signal.SIGSEGV,
    signal.SIGSYS,
}
_STOPPING: Final = {signal.SIGKILL, signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU, signal.SIGCONT}
IGNORED: Final = tuple(
    number
    for number in sorted(signal.valid_signals() - _FAULTS - _STOPPING - {*STOP, DUMP, signal.SIGCHLD})
    if number not in (signal.SIGPIPE, signal.SIGXFSZ)  # Python ignores both
)
"""Signals whose default action ends the process, real-time ones included. One sent by mistake, or by the soft limit of
processor time (SIGXCPU), must not end the agent; what a fault of the process raises does."""


def ignore_until_handled() -> None:
    """From the first moment on no signal that has another meaning later, or none, ends the fork server. Those that stop
    it do."""
    for number in (DUMP, *IGNORED):
        signal.signal(number, signal.SIG_IGN)


def handle(loop: Loop, *, stop: Callable[[], None], dump: Callable[[], None], reap: Callable[[], None]) -> None:
    """Install the handlers in the loop; children do not inherit them (fork.py)."""
    for number in STOP:
        loop.on_signal(number, stop)
    loop.on_signal(DUMP, dump)
    loop.on_signal(signal.SIGCHLD, reap)
    for number in IGNORED:
        signal.signal(number, signal.SIG_IGN)


_NUMBERS: Final = tuple(int(number) for number in (signal.SIGCHLD, DUMP, *IGNORED))
_HANDLED_NUMBERS: Final = tuple(int(number) for number in (*STOP, *IGNORED))
_ALL_NUMBERS: Final = tuple(int(number) for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP})
_DEFAULT, _SET_MASK = int(signal.SIG_DFL), int(signal.SIG_SETMASK)


def in_child(*, handles_signals: bool) -> None:
    """In a child: undo what `handle` did. `handles_signals`: each signal has its default action, else those that stop
    the fork server, and those that it ignores, do nothing.

    They have a handler for that, because what is ignored stays so in the programs that the child starts: `timeout` in a
    credential plug-in would end nothing. Calls of the system that one interrupts are restarted.

    The functions of `signal` make an enum of each number, with an exception for each number that has none; those of
    `_signal`, which they call, make none. That writes to fewer of the pages that are shared with the fork server."""
    for number in _NUMBERS:
        _signal.signal(number, _DEFAULT)
    for number in _HANDLED_NUMBERS:
        _signal.signal(number, _DEFAULT if handles_signals else _do_nothing)
        if not handles_signals:
            _signal.siginterrupt(number, False)


def _do_nothing(number: int, frame: object) -> None:
    """The handler in an actor of a stop signal, as the fork server decides when it ends, and of one sent by mistake."""


def before_program() -> None:
    """In a child that is about to be another program: every signal has its default action, and none is blocked."""
    for number in _ALL_NUMBERS:
        _signal.signal(number, _DEFAULT)
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
