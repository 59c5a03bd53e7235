"""The standard streams, which may be closed. stdout and stderr may also be a broken pipe, a full disk, a
terminal that knows ASCII only."""

from __future__ import annotations

import codecs
import errno
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from typing import Any, Final, TextIO, cast

from ..errors import error_text
from .command import NOT_WELL, OK, REFUSED
from .text import plain

ASCII_ERRORS: Final = "supervision-ascii"
_PLAIN: Final = {"├": "|", "└": "`", "│": "|", "─": "-", "…": ".", "→": ">", "▲": "^", "▼": "v"}
_NOT_WRITABLE: Final = frozenset({errno.ENOSPC, errno.EIO, errno.EBADF, errno.EDQUOT, errno.EFBIG})
_INTERRUPTED: Final = 130


def ascii_for(error: UnicodeError) -> tuple[str, int]:
    """Replaces letters that a stream's encoding does not have, for codecs.register_error."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(_PLAIN.get(letter, "?") for letter in error.object[error.start : error.end]), error.end


def guarded(run: Callable[[], int]) -> int:
    """Run a command; its exit code, also when the readers of stdout and stderr have gone: 0 if the command follows
    something then. 1 when stdout cannot be written, 4 when a file cannot be read or written."""
    _prepare()
    out, err = (cast(TextIO, stream) for stream in (_Readable(sys.stdout), Expendable(sys.stderr)))
    with redirect_stdout(out), redirect_stderr(err):
        return _run(run)


def _run(run: Callable[[], int]) -> int:
    try:
        code = run()
        with suppress(BrokenPipeError):
            sys.stdout.flush()
    except BrokenPipeError:
        return OK
    except KeyboardInterrupt:
        return _INTERRUPTED
    except OSError as error:
        if error.filename is not None:
            sys.stderr.write(f"supervise: {plain(error_text(error))}\n")
            return REFUSED
        if error.errno not in _NOT_WRITABLE:
            raise
        _forget(sys.stdout)
        sys.stderr.write(f"supervise: the output cannot be written: {error.strerror}\n")
        return NOT_WELL
    return code


class _Readable:
    """stdout. When its reader has gone, further text is dropped, so that the command comes to its exit code; but
    `flush` raises BrokenPipeError, which ends a command that follows something."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._lost = False

    def write(self, text: str) -> int:
        if not self._lost:
            with suppress(BrokenPipeError):
                return self._stream.write(text)
            self._lose()
        return len(text)

    def flush(self) -> None:
        if self._lost:
            raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))
        try:
            self._stream.flush()
        except BrokenPipeError:
            self._lose()
            raise

    def _lose(self) -> None:
        self._lost = True
        _forget(self._stream)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class Expendable:
    """A stream that may fail without stopping the command: when its terminal or reader is gone, further text is
    dropped."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.lost = False

    def write(self, text: str) -> int:
        if not self.lost:
            try:
                self._stream.write(text)
                self._stream.flush()
            except OSError as error:
                if error.errno != errno.EPIPE and error.errno not in _NOT_WRITABLE:
                    raise
                self.lost = True
                _forget(self._stream)
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def finishing() -> Iterator[None]:
    """For work that must not stop halfway: it continues when the terminal is closed (SIGHUP) or stdout and stderr
    cannot be written."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    out, err = (cast(TextIO, Expendable(stream)) for stream in (sys.stdout, sys.stderr))
    try:
        with redirect_stdout(out), redirect_stderr(err):
            yield
    finally:
        signal.signal(signal.SIGHUP, before)


def _prepare() -> None:
    codecs.register_error(ASCII_ERRORS, ascii_for)
    if sys.stdin is None:  # the descriptor was closed before the start
        sys.stdin = open(os.devnull)  # noqa: SIM115 - for the rest of the process
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # the descriptor was closed before the start
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115 - for the rest of the process
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors=ASCII_ERRORS)


def _forget(stream: TextIO) -> None:
    """Replace the stream: Python would report the same error again when it closes it."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
