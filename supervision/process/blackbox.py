"""The record that a dying actor leaves: a small file in memory, which the fork server makes before the fork.

An actor writes its exception there just before it ends; `faulthandler` writes the stacks of a hung actor.
"""

from __future__ import annotations

import faulthandler
import os
import signal
import traceback

_LIMIT = 64 * 1024
_MARK = b"exception\n"


class BlackBox:
    """The record of an incarnation. The actor writes it, the fork server reads it."""

    def __init__(self, name: str) -> None:
        self.fd = os.memfd_create(f"blackbox:{name}"[:200])

    def arm(self) -> None:
        """In the actor: SIGUSR1 writes the stacks of all threads here, at any moment."""
        faulthandler.register(signal.SIGUSR1, file=self.fd, all_threads=True, chain=False)

    def record(self, message: str, error: BaseException) -> None:
        """In the actor: write the exception, and the type of the current message ('' for none)."""
        text = "".join(traceback.format_exception(error))
        os.ftruncate(self.fd, 0)
        os.pwrite(self.fd, _MARK + message.encode() + b"\n" + text.encode(errors="replace")[-_LIMIT:], 0)

    def read(self) -> tuple[str, str]:
        """(message type, traceback) of an exception, ('', stacks) of a hang, ('', '') when there is nothing."""
        content = os.pread(self.fd, 2 * _LIMIT, 0)
        if not content.startswith(_MARK):
            return "", content.decode(errors="replace")
        message, _, text = content.removeprefix(_MARK).partition(b"\n")
        return message.decode(errors="replace"), text.decode(errors="replace")

    def close(self) -> None:
        os.close(self.fd)
