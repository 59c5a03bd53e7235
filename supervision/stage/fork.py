"""A child begins: forked with all signals blocked, tied to the stage's life, rid of the stage's descriptors."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import traceback
from collections.abc import Callable, Iterable
from typing import NoReturn

from ..protocol import EXIT_EXCEPTION, EXIT_ORPHANED

_PR_SET_PDEATHSIG, _PR_SET_NAME = 1, 15
_libc = ctypes.CDLL(None, use_errno=True)
STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def fork(title: str, body: Callable[[], None], close: Iterable[int], *, obeys_signals: bool = False) -> int:
    """The pid of a child that runs `body` and ends. Dies with the stage. Raises OSError when the system refuses.

    `close`: the stage's own descriptors. Stop signals are ignored in the child unless `obeys_signals`.
    """
    stage = os.getpid()
    sys.stdout.flush()
    sys.stderr.flush()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    try:
        pid = os.fork()
        if pid == 0:
            _child(body, lambda: _begin(title, stage, close, obeys_signals), before)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return pid


def _child(body: Callable[[], None], begin: Callable[[], None], before: set[signal.Signals | int]) -> NoReturn:
    """Nothing may get out of here: beyond is the stage's code, in a process that is not the stage."""
    try:
        begin()
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        body()
    except BaseException:  # noqa: BLE001
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(EXIT_EXCEPTION)


def _begin(title: str, stage: int, close: Iterable[int], obeys_signals: bool) -> None:
    tie_to_parent(stage)
    set_title(title)
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGCHLD, signal.SIGUSR1, signal.SIGUSR2):
        signal.signal(number, signal.SIG_DFL)
    for number in STOP_SIGNALS:
        signal.signal(number, signal.SIG_DFL if obeys_signals else signal.SIG_IGN)
    for fd in close:
        if fd >= 0:  # one whose peer has gone may be closed already
            os.close(fd)


def set_title(title: str) -> None:
    """What `ps` shows: the end of it, 15 bytes at most."""
    _libc.prctl(_PR_SET_NAME, title.encode()[-15:], 0, 0, 0)


def tie_to_parent(parent: int) -> None:
    """Have the system kill this process when its parent ends; ends it now if that has already happened."""
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(EXIT_ORPHANED)
