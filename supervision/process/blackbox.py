"""The record that a dying actor leaves: a small file in memory, which the fork server makes before the fork.

An actor writes its exception there just before it ends; `faulthandler` writes the stacks of a hung actor.
"""

from __future__ import annotations

import ctypes
import faulthandler
import os
import signal
import traceback
from typing import Final

_LIMIT = 64 * 1024
_MARK = b"exception\n"
_SS_DISABLE: Final = 2
_sigaltstack = ctypes.CDLL(None, use_errno=True).sigaltstack


class _SignalStack(ctypes.Structure):
    """stack_t of sigaltstack(2)."""

    _fields_ = (("address", ctypes.c_void_p), ("flags", ctypes.c_int), ("size", ctypes.c_size_t))


_NO_STACK: Final = _SignalStack(None, _SS_DISABLE, 0)


class BlackBox:
    """The record of an incarnation. The actor writes it, the fork server reads it."""

    def __init__(self, name: str) -> None:
        self.fd = os.memfd_create(f"blackbox:{name}"[:200])

    def arm(self) -> None:
        """In the actor: SIGUSR1 writes the stacks of all threads here, at any moment.

        `faulthandler` gives the thread a small stack for signals, on which Python's own handlers run too. The kernel
        ends a process whose signal frames do not fit there, as those of some five signals at once. On the thread's own
        stack of megabytes all fit."""
        faulthandler.register(signal.SIGUSR1, file=self.fd, all_threads=True, chain=False)
        _sigaltstack(ctypes.byref(_NO_STACK), None)

    def record(self, message: str, error: BaseException) -> None:
        """In the actor: write the exception, and the type of the current message ('' for none)."""
        text = "".join(traceback.format_exception(error))
        os.ftruncate(self.fd, 0)
        os.pwrite(
            self.fd, _MARK + message.encode(errors="replace") + b"\n" + text.encode(errors="replace")[-_LIMIT:], 0
        )

    def expect_stacks(self) -> None:
        """Before SIGUSR1: forget the stacks that somebody else's signal has written. An exception stays: an actor may
        hang after it has recorded its own."""
        if not self._content().startswith(_MARK):
            os.ftruncate(self.fd, 0)
        os.lseek(self.fd, 0, os.SEEK_END)  # the actor writes at this offset, which the fork has made common

    def exception(self) -> tuple[str, str]:
        """(message type, traceback); ('', '') when there is none."""
        content = self._content()
        if not content.startswith(_MARK):
            return "", ""
        message, _, text = content.removeprefix(_MARK).partition(b"\n")
        return message.decode(errors="replace"), text.decode(errors="replace")

    def stacks(self) -> str:
        """The stacks of a hang; after an exception of before, if there was one."""
        return self._content().removeprefix(_MARK).decode(errors="replace")

    def close(self) -> None:
        os.close(self.fd)

    def _content(self) -> bytes:
        return os.pread(self.fd, 2 * _LIMIT, 0)
