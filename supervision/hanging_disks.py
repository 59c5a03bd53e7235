"""Looks at files, and writes the last ones, in a process of its own: on a disk that hangs nobody can end a wait in the
kernel, and a command would answer nothing, a start or stop never end."""

from __future__ import annotations

import errno
import os
import select
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Final, TypeVar

import msgspec

from .time_scale import scaled

T = TypeVar("T")
SECONDS: Final = 5.0
ANSWER_SECONDS: Final = 3.0
"""How long a disk may take to answer one call."""
HANGS: Final = "the disk does not answer"
_BYTES: Final = 1 << 16


class Hangs(Exception):
    """The look has not ended in time."""


def in_time(look: Callable[[], T], kind: type[T], seconds: float = SECONDS) -> T:
    """The result of `look`, a value that msgspec encodes. Raises Hangs, and the process is left alone: it ends when the
    disk lets it. Raises OSError if no process can be made, or if it ends without a result."""
    reading, writing = os.pipe()
    before = signal.pthread_sigmask(
        signal.SIG_BLOCK, signal.valid_signals()
    )  # those of the child are meant for its parent
    try:
        pid = os.fork()
        if pid == 0:
            _answer(look, writing)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        os.close(writing)
    try:
        data = _read(reading, time.monotonic() + scaled(seconds))
    except BaseException:
        os.kill(pid, signal.SIGKILL)
        raise
    finally:
        os.close(reading)
    os.waitpid(pid, 0)
    if not data:
        raise ChildProcessError("the process that looks at the files has ended")
    return msgspec.msgpack.decode(data, type=kind)


def require_answer(path: os.PathLike[str] | str, *, writes: bool = False) -> None:
    """Raises TimeoutError, with the path, if its disk hangs. `writes`: for writing; else for looking at files. Any
    other error is an answer: whoever uses the disk finds it."""

    def asked() -> bool:
        with suppress(OSError):
            (touch if writes else look)(os.path.abspath(path))
        return True

    try:
        in_time(asked, bool, ANSWER_SECONDS)
    except Hangs:
        raise TimeoutError(errno.ETIMEDOUT, HANGS, os.fspath(path)) from None
    except OSError:
        pass  # no process can be made, which says nothing of the disk


def hangs(path: os.PathLike[str] | str) -> bool:
    """Whether its disk does not even let files be looked at."""
    try:
        require_answer(path)
    except TimeoutError:
        return True
    return False


def look(path: str) -> None:
    """Look at the file. Raises OSError."""
    os.stat(path)


def touch(path: str) -> None:
    """Change the time of the nearest directory above the file. On a disk that hangs that waits as a write does. Raises
    OSError."""
    directory = os.path.dirname(os.path.realpath(path))
    while not os.path.isdir(directory):
        directory = os.path.dirname(directory)
    os.utime(directory)


def _answer(look: Callable[[], object], writing: int) -> None:
    """In the child. It keeps no stream open: who reads the command's output would wait for it, too."""
    try:
        null = os.open(os.devnull, os.O_RDWR)
        for stream in {0, 1, 2} - {writing}:
            os.dup2(null, stream)
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
