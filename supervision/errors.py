"""The errors that an actor's calls and the command line raise. Imports no event loop."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from .resource_limits import file_size, is_of_file_size

UNREADABLE: Final = (ValueError, RecursionError)
"""The exceptions that msgspec raises for unreadable input: its own errors and bad UTF-8 are ValueErrors, deep nesting
is a RecursionError."""


def error_reason(error: BaseException) -> str:
    """The error for a text that already names the file: the message of an OSError without its number and path."""
    if isinstance(error, OSError) and error.strerror:
        if is_of_file_size(error):
            return f"{error.strerror}: this process may write files of at most {file_size()} bytes (RLIMIT_FSIZE)"
        return error.strerror
    return str(error) or type(error).__name__


def error_text(error: BaseException) -> str:
    """The error and its place: `/etc/x: Permission denied`, or `/a, /b: Invalid cross-device link`."""
    named: list[object] = [error.filename, error.filename2] if isinstance(error, OSError) else []
    paths = [os.fsdecode(one) for one in named if isinstance(one, str | bytes)]
    return f"{', '.join(paths)}: {error_reason(error)}" if paths else error_reason(error)


@contextmanager
def told_as(temporary: str, path: str) -> Iterator[None]:
    """Errors of the block that name the temporary path, or one below it, name `path` instead: with a part that differs
    in each attempt, no text would be the same again, so each would be another event."""
    try:
        yield
    except OSError as error:
        names = (error.filename, error.filename2)
        error.filename, error.filename2 = (_told_as(name, temporary, path) for name in names)
        if error.filename2 == error.filename:
            error.filename2 = None
        raise


def _told_as(name: object, temporary: str, path: str) -> object:
    text = os.fsdecode(name) if isinstance(name, str | bytes) else ""
    return path + text[len(temporary) :] if f"{text}/".startswith(f"{temporary}/") else name


class AskError(Exception):
    """A question got no answer: the receiver did not reply in time, died, or does not exist."""


class AskTimeout(AskError):
    """The receiver did not answer in time; it may still be working on it."""


class NotRunning(AskError):
    """Nobody has the receiver's name."""


class OtherVersion(AskError):
    """The receiver runs another version of the program: its answer cannot be read."""


class DisposableError(Exception):
    """The function in the disposable process raised, or the process could not be started (then `kind` is AskError).

    `kind` is the exception's class name, `errno` its errno or 0.
    """

    def __init__(self, kind: str, text: str, errno: int = 0) -> None:
        super().__init__(f"{kind}: {text}")
        self.kind, self.text, self.errno = kind, text, errno


class DisposableTimeout(DisposableError):
    """The disposable process missed its deadline; it was killed, or abandoned if it cannot be killed."""
