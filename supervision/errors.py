"""What the verbs of an actor, and of the command line, may raise. Light: no event loop is imported for it."""

from __future__ import annotations

from typing import Final

UNREADABLE: Final = (ValueError, RecursionError)
"""What msgspec raises for what it cannot read: its own errors are ValueErrors, bad UTF-8 has an exception of its own
which is one, too, and deep nesting has another."""


class AskError(Exception):
    """A question got no answer: the receiver did not reply in time, died, or is not there."""


class AskTimeout(AskError):
    """The receiver did not reply in time; it may still be at work."""


class DisposableError(Exception):
    """The function run in a disposable process raised, or the process could not be had (`kind` is AskError then).

    `kind` is the exception's class name, `errno` its errno or 0.
    """

    def __init__(self, kind: str, text: str, errno: int = 0) -> None:
        super().__init__(f"{kind}: {text}")
        self.kind, self.text, self.errno = kind, text, errno


class DisposableTimeout(DisposableError):
    """The disposable process passed its deadline and was killed, or abandoned where it cannot be killed."""
