"""Looks at files, and writes the last ones, in a process of its own: on a disk that hangs nobody can end a wait in the
kernel, and a command would answer nothing, a start or stop never end."""

from __future__ import annotations

import errno
import os
import select
import signal
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Final, NoReturn, Protocol, Self, TypeVar

import msgspec

from .time_scale import scaled

T = TypeVar("T")
SECONDS: Final = 5.0
ANSWER_SECONDS: Final = 3.0
"""How long a disk may take to answer one call."""
HANGS: Final = "the disk does not answer"
REMEDY: Final = "dmesg | tail; ps -eo pid,stat,wchan:30,args | grep ' D': the disk or server must answer"
"""What an operator types."""
_BYTES: Final = 1 << 16
_LOOKS, _WRITES, _ANSWER = b"l", b"w", b"a"


class Ask(Protocol):
    """Raises TimeoutError, with the path, if its disk hangs. `writes`: for writing; else for looking at files. Any
    other error is an answer: whoever uses the disk finds it."""

    def __call__(self, path: os.PathLike[str] | str, *, writes: bool = False) -> None: ...


class Hangs(Exception):
    """The look has not ended in time."""


def in_time(look: Callable[[], T], kind: type[T], seconds: float = SECONDS) -> T:
    """The result of `look`, a value that msgspec encodes. Raises Hangs, and the process is left alone: it ends when the
    disk lets it. Raises OSError if no process can be made, or if it ends without a result."""
    reading, writing = os.pipe()
    try:
        pid = _forked(lambda: _answer(look, writing), keeps=writing)
    except OSError:
        os.close(reading)
        raise
    finally:
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
    """One question, of a process of its own. It is an `Ask`."""
    with Asker() as asker:
        asker.require_answer(path, writes=writes)


class Asker:
    """One process for many questions, each asked when its disk is about to be used: a fork takes milliseconds."""

    def __init__(self) -> None:
        self._pid = 0
        self._questions: socket.socket | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def require_answer(self, path: os.PathLike[str] | str, *, writes: bool = False) -> None:
        """Ask its process, which the first question makes. It is an `Ask`."""
        try:
            if self._questions is None:
                self._questions = self._fork()
            self._questions.settimeout(scaled(ANSWER_SECONDS))
            self._questions.send((_WRITES if writes else _LOOKS) + os.fsencode(os.path.abspath(path)))
            self._questions.recv(len(_ANSWER))
        except TimeoutError:
            self._end(wait=False)
            raise TimeoutError(errno.ETIMEDOUT, HANGS, os.fspath(path)) from None
        except OSError:
            self.close()  # there is no process, which says nothing of the disk
        except BaseException:
            self._end(wait=False)
            raise

    def close(self) -> None:
        """End the process, if there is one."""
        self._end(wait=True)

    def _fork(self) -> socket.socket:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            self._pid = _forked(lambda: _answer_questions(ours, theirs), keeps=theirs.fileno())
        except OSError:
            ours.close()
            raise
        finally:
            theirs.close()
        return ours

    def _end(self, *, wait: bool) -> None:
        """`wait`: else it hangs, and ends when the disk lets it."""
        if self._questions is not None:
            self._questions.close()
            self._questions = None
            os.kill(self._pid, signal.SIGKILL)
            if wait:
                os.waitpid(self._pid, 0)


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


def _forked(run: Callable[[], None], *, keeps: int) -> int:
    """The pid of a process that calls `run`. It keeps no stream open but that descriptor: who reads the command's
    output would wait for it, too. Raises OSError."""
    # signals of the child are meant for its parent
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    try:
        pid = os.fork()
        if pid == 0:
            _run_child(run, keeps)
        return pid
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _run_child(run: Callable[[], None], keeps: int) -> NoReturn:
    try:
        null = os.open(os.devnull, os.O_RDWR)
        for stream in {0, 1, 2} - {keeps}:
            os.dup2(null, stream)
        run()
    finally:
        os._exit(0)


def _answer(look: Callable[[], object], writing: int) -> None:
    with os.fdopen(writing, "wb") as out:
        out.write(msgspec.msgpack.encode(look()))


def _answer_questions(of_parent: socket.socket, questions: socket.socket) -> None:
    """Until its parent ends."""
    of_parent.close()
    while question := questions.recv(_BYTES):
        with suppress(OSError):
            (touch if question.startswith(_WRITES) else look)(os.fsdecode(question[1:]))
        questions.send(_ANSWER)


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
