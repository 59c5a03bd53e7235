"""Looks at files for a command, in a process of its own: on a disk that hangs nobody can end a wait in the kernel, and
the command would answer nothing."""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Callable
from typing import Final, TypeVar

import msgspec

from ..time_scale import scaled

T = TypeVar("T")
SECONDS: Final = 5.0
_BYTES: Final = 1 << 16


class Hangs(Exception):
    """The look has not ended in time."""


def in_time(look: Callable[[], T], kind: type[T], seconds: float = SECONDS) -> T:
    """The result of `look`, a value that msgspec encodes. Raises Hangs, and the process is left alone: it ends when the
    disk lets it. Raises OSError if no process can be made, or if it ends without a result."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        _answer(look, writing)
    os.close(writing)
    try:
        data = _read(reading, time.monotonic() + scaled(seconds))
    except Hangs:
        os.kill(pid, signal.SIGKILL)
        raise
    finally:
        os.close(reading)
    os.waitpid(pid, 0)
    if not data:
        raise ChildProcessError("the process that looks at the files has ended")
    return msgspec.msgpack.decode(data, type=kind)


def _answer(look: Callable[[], object], writing: int) -> None:
    """In the child."""
    try:
        with os.fdopen(writing, "wb") as out:
            out.write(msgspec.msgpack.encode(look()))
    finally:
        os._exit(0)


def _read(descriptor: int, end: float) -> bytes:
    data = b""
    while True:
        readable, _, _ = select.select([descriptor], [], [], max(0.0, end - time.monotonic()))
        if not readable:
            raise Hangs
        some = os.read(descriptor, _BYTES)
        if not some:
            return data
        data += some
