"""The fields of a message as they are on the wire (Protocol Buffers, "Encoding"). Pure.

Bounded: a few bytes may name thousands of values, each of which costs memory and time.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

_VARINT: Final = 0
_FIXED64: Final = 1
_BYTES: Final = 2
_FIXED32: Final = 5
_LONGEST: Final = 63
"""The shift of the last byte of a varint."""
_UNSIGNED: Final = (1 << 64) - 1


class Malformed(ValueError):
    """The bytes are not the message that they should be."""


class Budget:
    """The values that may still be read."""

    __slots__ = ("left",)

    def __init__(self, values: int) -> None:
        self.left = values


def fields(data: bytes, budget: Budget) -> Iterator[tuple[int, int | bytes]]:
    """Number and value of each field, in order: an unsigned number, or the bytes of a string, of a message or of packed
    numbers. Raises Malformed, also for more fields than `budget` has."""
    position, end = 0, len(data)
    try:
        while position < end:
            budget.left -= 1
            if budget.left < 0:
                raise Malformed("more values than are read of one object")
            tag = data[position]
            position += 1
            if tag >= 0x80:
                tag, position = _varint(data, position - 1)
            kind = tag & 7
            if kind in (_VARINT, _BYTES):
                # most numbers have one byte
                value = data[position]
                position += 1
                if value >= 0x80:
                    value, position = _varint(data, position - 1)
                if kind == _VARINT:
                    yield tag >> 3, value
                    continue
                begin, position = position, position + value
                if position > end:
                    raise Malformed("a field ends after the message")
                yield tag >> 3, data[begin:position]
            elif kind in (_FIXED32, _FIXED64):
                # the API has none; it is a field of a later version
                position += 4 if kind == _FIXED32 else 8
            else:
                raise Malformed(f"a field of wire type {kind}")
    except IndexError:
        raise Malformed("the message ends within a field") from None


def numbers(value: int | bytes, budget: Budget) -> Iterator[int]:
    """A number, or the packed ones. Raises Malformed."""
    if isinstance(value, int):
        yield value
        return
    position = 0
    try:
        while position < len(value):
            budget.left -= 1
            if budget.left < 0:
                raise Malformed("more values than are read of one object")
            number, position = _varint(value, position)
            yield number
    except IndexError:
        raise Malformed("packed numbers end within one") from None


def _varint(data: bytes, position: int) -> tuple[int, int]:
    """The number and the position after it. Raises Malformed and IndexError."""
    value = shift = 0
    while True:
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & _UNSIGNED, position
        shift += 7
        if shift > _LONGEST:
            raise Malformed("a number of more than ten bytes")
