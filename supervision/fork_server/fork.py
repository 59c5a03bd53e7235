"""One child starts: forked with all signals blocked, killed with the fork server, without the fork server's
descriptors."""

from __future__ import annotations

import ctypes
import os
import random
import signal
import sys
import traceback
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NoReturn

from .. import logs
from ..protocol import EXIT_EXCEPTION, EXIT_ORPHANED
from . import titles
from .signals import restore_defaults

_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)
STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


@dataclass(frozen=True, kw_only=True)
class Plan:
    """One child to be."""

    title: str
    """What `ps` shows."""
    body: Callable[[], None]
    """Runs in it; then it ends."""
    close: Sequence[int] = ()
    """The fork server's own descriptors."""
    obeys_signals: bool = False
    """Otherwise stop signals are ignored in it."""


def fork(title: str, body: Callable[[], None], close: Iterable[int]) -> int:
    """The pid of a child that runs `body` and ends. Dies with the fork server. Raises OSError when the system
    refuses."""
    (pid,) = fork_each([Plan(title=title, body=body, close=tuple(close))])
    if isinstance(pid, OSError):
        raise pid
    return pid


def fork_each(plans: Sequence[Plan]) -> list[int | OSError]:
    """The pid of each child, or why the system refused it.

    Between two forks as little as can be happens: each page that the fork server writes to in between is one that the
    first child shares with nobody. The fork server writes to some 270 on its way from one order to the next."""
    fork_server = os.getpid()
    sys.stdout.flush()
    sys.stderr.flush()
    found: list[int | OSError] = []
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    try:
        for plan in plans:
            try:
                pid = os.fork()
            except OSError as error:
                found.append(error)
                continue
            if pid == 0:
                _child(plan, fork_server, before)
            found.append(pid)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return found


def _child(plan: Plan, fork_server: int, before: set[signal.Signals | int]) -> NoReturn:
    """Nothing may get out of here: beyond is the fork server's code, in a process that is not the fork server."""
    try:
        _begin(plan, fork_server)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        plan.body()
    except BaseException:  # noqa: BLE001
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(EXIT_EXCEPTION)


def _begin(plan: Plan, fork_server: int) -> None:
    tie_to_parent(fork_server)
    titles.set_title(plan.title)
    logs.forget()
    random.seed()  # the one hook of a library that matters, see fork_hooks.py
    signal.set_wakeup_fd(-1)
    restore_defaults()
    for number in STOP_SIGNALS:
        signal.signal(number, signal.SIG_DFL if plan.obeys_signals else signal.SIG_IGN)
    for fd in plan.close:
        if fd >= 0:  # one whose peer has gone may be closed already
            os.close(fd)


def tie_to_parent(parent: int) -> None:
    """Have the system kill this process when its parent ends; ends it now if that has already happened."""
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(EXIT_ORPHANED)
