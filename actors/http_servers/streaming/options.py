"""The query parameters of exec, attach and port-forward. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

Query = Mapping[str, Sequence[str]]
_PORT: Final = re.compile("[0-9]{1,5}")
_TRUE: Final = ("1", "t", "T", "true", "TRUE", "True")


class OptionsError(ValueError):
    """A wrong parameter; the text is for the caller (400)."""


class Streams(msgspec.Struct, frozen=True):
    """The streams of a process that the caller attaches to."""

    stdin: bool
    stdout: bool
    stderr: bool
    tty: bool


def streams(query: Query, *, tty: bool | None = None) -> Streams:
    """`tty`: set if the container decides it, not the caller. A terminal has only one output. Raises OptionsError."""
    terminal = _flag(query, "tty") if tty is None else tty
    found = Streams(
        _flag(query, "input", "stdin"),
        _flag(query, "output", "stdout"),
        _flag(query, "error", "stderr") and not terminal,
        terminal,
    )
    if not (found.stdin or found.stdout or found.stderr):
        raise OptionsError("you must specify at least 1 of stdin, stdout, stderr")
    return found


def command(query: Query) -> list[str]:
    """Raises OptionsError."""
    words = list(query.get("command", ()))
    if not words or not words[0]:
        raise OptionsError("a command is required")
    return words


def ports(query: Query, *, websocket: bool) -> list[int]:
    """The ports of a WebSocket, from the query; SPDY names them in its streams. Raises OptionsError."""
    if not websocket:
        return []
    values = list(query.get("port", ()))
    if not all(values):
        raise OptionsError('query parameter "port" cannot be empty')
    texts = [text for value in values for text in value.split(",")]
    if not texts:
        raise OptionsError('query parameter "port" is required')
    found = []
    for text in texts:
        if _PORT.fullmatch(text) is None or int(text) > 65535:
            raise OptionsError(f'unable to parse "{text[:20]}" as a port')
        if not int(text):
            raise OptionsError(f'port "{text[:20]}" must be > 0')
        found.append(int(text))
    return found


def _flag(query: Query, *names: str) -> bool:
    return any(query.get(name, ("",))[0] in _TRUE for name in names)
