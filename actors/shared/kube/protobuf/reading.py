"""The JSON of a message. Pure.

Fields that proto/k8s_*.proto lack are left out, as in a program built with that version of the API.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from functools import cache
from typing import Any, Final, NamedTuple

from google.protobuf.descriptor import Descriptor

from .schema import Field, Scalar, Shape, schema_of
from .values import READ, signed, text
from .wire import Budget, Malformed, fields, numbers

MOST_VALUES: Final = 500_000
"""Fields of one object, which has at most 1.5 MiB in an etcd with its defaults. Reading so many takes half a second."""

_ONE, _MANY, _MAP = Shape.ONE, Shape.MANY, Shape.MAP
_Read = Callable[[Any, Budget], Any]


class _Reader(NamedTuple):
    """How a field is read: for a map, how each of its values."""

    name: str
    shape: Shape
    read: _Read
    keeps_empty: bool


def read(kind: Descriptor, data: bytes) -> dict[str, Any]:
    """The fields of the message as JSON has them. Raises Malformed."""
    made: dict[str, Any] = {}
    try:
        _read(kind, data, Budget(MOST_VALUES), made)
    except Malformed:
        raise
    except (ValueError, TypeError, OverflowError, OSError, RecursionError) as error:
        # UTF-8, JSON within, times out of range; a number in place of bytes, or bytes in place of a number
        raise Malformed(str(error) or "a field of another type") from None
    return made


def _read(kind: Descriptor, data: bytes, budget: Budget, made: dict[str, Any]) -> None:
    """Raises what `read` turns into Malformed."""
    readers, always = _readers(kind)
    for number, value in fields(data, budget):
        if number not in readers:
            continue
        name, shape, read_one, keeps_empty = readers[number]
        if shape is _ONE:
            one = read_one(value, budget)
            if one or (keeps_empty and one is not None):
                made[name] = one
        elif shape is _MANY:
            made.setdefault(name, []).extend(read_one(value, budget))
        elif shape is _MAP:
            entry = dict(fields(_bytes(value), budget))
            made.setdefault(name, {})[text(entry.get(1, b""))] = read_one(entry.get(2, b""), budget)
        else:
            made.update(read_one(value, budget))
    for name, empty in always:
        made.setdefault(name, empty)


# -- how each field is read ------------------------------------------------------------------------------------------
@cache
def _readers(kind: Descriptor) -> tuple[dict[int, _Reader], list[tuple[str, Any]]]:
    schema = schema_of(kind)
    readers = {
        number: _Reader(one.name, one.shape, _of_items(one) if one.shape is _MANY else _of_one(one), one.keeps_empty)
        for number, one in schema.fields.items()
    }
    return readers, schema.always


def _of_one(field: Field) -> _Read:
    if field.message is None:
        return _SCALARS[field.scalar or Scalar.TEXT]
    if (whole := READ.get(field.message.name)) is not None:
        return whole
    return _of_message(field.message)


def _of_message(kind: Descriptor) -> _Read:
    def read_message(data: Any, budget: Budget) -> dict[str, Any]:
        made: dict[str, Any] = {}
        _read(kind, _bytes(data), budget, made)
        return made

    return read_message


def _of_items(field: Field) -> _Read:
    """Reads the items in one occurrence of a repeated field: one, or any number of packed numbers."""
    if field.scalar is Scalar.NUMBER:
        return lambda value, budget: map(signed, numbers(value, budget))
    read_one = _of_one(field)
    return lambda value, budget: (read_one(value, budget),)


def _bytes(value: int | bytes) -> bytes:
    if not isinstance(value, bytes):
        raise Malformed("a number in place of a message")
    return value


_SCALARS: Final[dict[Scalar, _Read]] = {
    Scalar.BOOL: lambda number, budget: number > 0,
    Scalar.BYTES: lambda data, budget: base64.b64encode(data).decode(),
    Scalar.NUMBER: lambda number, budget: signed(number),
    Scalar.TEXT: lambda data, budget: str(data, "utf-8"),
}
