"""Forks a child: with all signals blocked, killed together with the fork server, without the fork server's
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
from ..log_streams import flush_standard_streams
from ..process_messages import EXIT_EXCEPTION, EXIT_ORPHANED
from . import titles
from .signals import in_child, unblock

_PR_SET_PDEATHSIG = 1
_SIGKILL = int(signal.SIGKILL)
_prctl = ctypes.CDLL(None, use_errno=True).prctl


@dataclass(frozen=True, kw_only=True)
class ForkPlan:
    """The plan of one fork."""

    title: str
    """The process title, for `ps`."""
    body: Callable[[], None]
    """The function that the child runs before it exits."""
    close: Sequence[int] = ()
    """The fork server's own descriptors, which the child closes."""
    handles_signals: bool = False
    """If false, the child ignores stop signals."""


def fork(title: str, body: Callable[[], None], close: Iterable[int]) -> int:
    """Fork a child that runs `body`; return its pid. It dies with the fork server. Raises OSError if the fork fails."""
    (pid,) = fork_each([ForkPlan(title=title, body=body, close=tuple(close))])
    if isinstance(pid, OSError):
        raise pid
    return pid


def fork_each(plans: Sequence[ForkPlan]) -> list[int | OSError]:
    """Fork each child; return its pid, or the error.

    As little as possible happens between two forks, because every page that the fork server writes to in between is no
    longer shared with the first child. Handling one order writes to some 270 pages."""
    fork_server = os.getpid()
    flush_standard_streams()
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


def _child(plan: ForkPlan, fork_server: int, before: set[signal.Signals | int]) -> NoReturn:
    """Runs in the child. Never returns or raises: the caller's code is the fork server's, and this is another
    process."""
    try:
        _set_up(plan, fork_server)
        unblock(before)
        plan.body()
    except BaseException:  # noqa: BLE001
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(EXIT_EXCEPTION)


def _set_up(plan: ForkPlan, fork_server: int) -> None:
    set_parent_death_signal(fork_server)
    titles.set_title(plan.title)
    logs.forget()
    random.seed()  # the only fork hook that matters, see fork_hooks.py
    signal.set_wakeup_fd(-1)
    in_child(handles_signals=plan.handles_signals)
    for fd in plan.close:
        if fd >= 0:  # a connection whose peer is gone may be closed already
            os.close(fd)


def set_parent_death_signal(parent: int) -> None:
    """Have the kernel kill this process when its parent ends. If the parent has ended already, exit now."""
    _prctl(_PR_SET_PDEATHSIG, _SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(EXIT_ORPHANED)
