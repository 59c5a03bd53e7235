"""How JSON has the fields of a message: from its descriptor and the options of proto/k8s_meta.proto."""

from __future__ import annotations

import enum
from functools import cache
from typing import Any, Final, NamedTuple

from google.protobuf.descriptor import Descriptor, FieldDescriptor

from proto import k8s_meta_pb2 as meta


class Shape(enum.Enum):
    ONE = enum.auto()
    MANY = enum.auto()
    MAP = enum.auto()
    INLINE = enum.auto()
    """The message's fields are, in JSON, fields of the object around it."""


class Scalar(enum.Enum):
    TEXT = enum.auto()
    BYTES = enum.auto()
    """base64 in JSON."""
    BOOL = enum.auto()
    NUMBER = enum.auto()


class Field(NamedTuple):
    name: str
    """As in JSON."""
    shape: Shape
    scalar: Scalar | None
    """The type of the value, of each item, or of each value of a map; None: it is a message."""
    message: Descriptor | None
    keeps_empty: bool
    """JSON has the field also with an empty value, if it was sent."""


class MessageSchema(NamedTuple):
    fields: dict[int, Field]
    """By number."""
    always: list[tuple[str, Any]]
    """Fields that JSON always has, with their value if none was sent."""


_SCALARS: Final = {
    FieldDescriptor.TYPE_BOOL: Scalar.BOOL,
    FieldDescriptor.TYPE_BYTES: Scalar.BYTES,
    FieldDescriptor.TYPE_INT32: Scalar.NUMBER,
    FieldDescriptor.TYPE_INT64: Scalar.NUMBER,
    FieldDescriptor.TYPE_STRING: Scalar.TEXT,
}
_EMPTY: Final[dict[Scalar | None, Any]] = {
    Scalar.BOOL: False,
    Scalar.BYTES: "",
    Scalar.NUMBER: 0,
    Scalar.TEXT: "",
}


@cache
def schema_of(message: Descriptor) -> MessageSchema:
    by_number = {field.number: _field(field) for field in message.fields}
    always = [
        (one.name, _EMPTY[one.scalar])
        for number, one in by_number.items()
        if is_always(message.fields_by_number[number])
    ]
    return MessageSchema(by_number, always)


def is_inline(field: FieldDescriptor) -> bool:
    return bool(field.GetOptions().Extensions[meta.inline])


def is_always(field: FieldDescriptor) -> bool:
    return bool(field.GetOptions().Extensions[meta.always])


def map_value(field: FieldDescriptor) -> FieldDescriptor | None:
    """The value in each entry of a map; None: it is no map."""
    entry = field.message_type
    return entry.fields_by_name["value"] if entry is not None and entry.GetOptions().map_entry else None


def _field(field: FieldDescriptor) -> Field:
    value = map_value(field) or field
    return Field(
        name=field.name,
        shape=_shape(field),
        scalar=_SCALARS[value.type] if value.message_type is None else None,
        message=value.message_type,
        keeps_empty=field.has_presence or is_always(field),
    )


def _shape(field: FieldDescriptor) -> Shape:
    if map_value(field) is not None:
        return Shape.MAP
    if field.is_repeated:
        return Shape.MANY
    return Shape.INLINE if is_inline(field) else Shape.ONE
