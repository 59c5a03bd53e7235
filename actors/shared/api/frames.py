"""Splits a byte stream into frames, for watches in protobuf: a length of four bytes, the highest first, then as many
bytes."""

from __future__ import annotations

from typing import Final

from .lines import MAX_LINE

_HEAD: Final = 4


class FrameTooLong(ValueError):
    """A frame is too long: the stream cannot be read further."""


class Frames:
    """Takes chunks, returns the complete frames; skips empty ones."""

    def __init__(self, limit: int = MAX_LINE) -> None:
        self._limit, self._parts, self._length = limit, list[bytes](), 0
        self._wanted = _HEAD
        """Bytes of the head, or of head and frame."""

    def feed(self, chunk: bytes) -> list[bytes]:
        """Raises FrameTooLong."""
        self._parts.append(chunk)
        self._length += len(chunk)
        if self._length < self._wanted:
            return []
        data, position, found = b"".join(self._parts), 0, []
        while len(data) - position >= _HEAD:
            end = position + _HEAD + self._checked(int.from_bytes(data[position : position + _HEAD]))
            if end > len(data):
                break
            found.append(data[position + _HEAD : end])
            position = end
        rest = data[position:]
        self._parts, self._length = [rest], len(rest)
        self._wanted = _HEAD if len(rest) < _HEAD else _HEAD + int.from_bytes(rest[:_HEAD])
        return [frame for frame in found if frame]

    def _checked(self, length: int) -> int:
        if length > self._limit:
            raise FrameTooLong(f"a frame of {length} bytes")
        return length
