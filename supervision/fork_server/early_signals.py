"""Signals that are no order, from the first moment of a start on. It imports nothing, because what a start imports
takes seconds on a slow machine."""

from __future__ import annotations

import _signal

_STOP = (_signal.SIGTERM, _signal.SIGINT)
_FAULTS = (
    _signal.SIGQUIT,
    _signal.SIGILL,
    _signal.SIGTRAP,
    _signal.SIGABRT,
    _signal.SIGBUS,
    _signal.SIGFPE,
    _signal.SIGSEGV,
    _signal.SIGSYS,
)
_STOPPING = (_signal.SIGKILL, _signal.SIGSTOP, _signal.SIGTSTP, _signal.SIGTTIN, _signal.SIGTTOU, _signal.SIGCONT)
_IGNORED_BY_PYTHON = (_signal.SIGPIPE, _signal.SIGXFSZ)
_MEANT = (*_STOP, *_FAULTS, *_STOPPING, *_IGNORED_BY_PYTHON, _signal.SIGCHLD)

DUMP = int(_signal.SIGUSR1)
"""An order later, once there is a state to be logged."""
NO_ORDERS = tuple(int(number) for number in sorted(_signal.valid_signals()) if number not in (*_MEANT, DUMP))
"""Signals whose default action ends the process, real-time ones included. One sent by mistake, or by the soft limit of
processor time (SIGXCPU), must not end the agent; what a fault of the process raises does."""


def disregard() -> None:
    """None of these ends this process, until it has handlers. Programs that it starts meanwhile have their default
    actions: what is ignored stays so in a program. No signal is blocked: whoever started this process may have had
    SIGCHLD or SIGTERM blocked, and exec(3) keeps that."""
    for number in (DUMP, *NO_ORDERS):
        _signal.signal(number, do_nothing)
        _signal.siginterrupt(number, False)
    _signal.pthread_sigmask(_signal.SIG_SETMASK, ())


def do_nothing(number: int, frame: object) -> None:
    """A handler: what is ignored stays so in the programs that a process starts, and `timeout` in a credential plug-in
    would end nothing."""
