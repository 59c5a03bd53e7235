"""Splits a byte stream into lines, for watches: one JSON document per line."""

from __future__ import annotations

from typing import Final

MAX_LINE: Final = 8 << 20
"""The longest line. An object has at most 1.5 MiB in etcd, and its JSON may be a few times larger. It is copied to
other actors: objects of 30 MiB exceeded the memory ceilings of several actors repeatedly."""


class LineTooLong(ValueError):
    """A line is too long: the stream cannot be read further."""


class Lines:
    """Takes chunks, returns the complete lines without line ends; skips empty lines."""

    def __init__(self, limit: int = MAX_LINE) -> None:
        self._limit, self._parts, self._length = limit, list[bytes](), 0

    def feed(self, chunk: bytes) -> list[bytes]:
        """Raises LineTooLong."""
        head, newline, rest = chunk.partition(b"\n")
        self._keep(head)
        if not newline:
            return []
        first = b"".join(self._parts)
        self._parts, self._length = [], 0
        *whole, last = rest.split(b"\n")
        for line in whole:
            self._check(len(line))
        self._keep(last)
        return [line for line in (each.strip() for each in (first, *whole)) if line]

    def _keep(self, part: bytes) -> None:
        self._length += len(part)
        self._check(self._length)
        if part:
            self._parts.append(part)

    def _check(self, length: int) -> None:
        if length > self._limit:
            raise LineTooLong(f"a line of more than {self._limit} bytes")
