"""Replaces every number of an answer."""

from __future__ import annotations

from typing import Final

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

_LARGEST: Final = {
    FieldDescriptor.CPPTYPE_INT32: 2**31 - 1,
    FieldDescriptor.CPPTYPE_INT64: 2**63 - 1,
    FieldDescriptor.CPPTYPE_UINT32: 2**32 - 1,
    FieldDescriptor.CPPTYPE_UINT64: 2**64 - 1,
    FieldDescriptor.CPPTYPE_DOUBLE: 1e308,
    FieldDescriptor.CPPTYPE_ENUM: 2**31 - 1,
}
_NEGATIVE: Final = {
    FieldDescriptor.CPPTYPE_INT32: -(2**31),
    FieldDescriptor.CPPTYPE_INT64: -(2**63),
    FieldDescriptor.CPPTYPE_UINT32: 0,
    FieldDescriptor.CPPTYPE_UINT64: 0,
    FieldDescriptor.CPPTYPE_DOUBLE: -1e308,
    FieldDescriptor.CPPTYPE_ENUM: -1,
}


def spoil(message: Message, *, largest: bool) -> None:
    """Every number that is set, or that its message has, becomes the largest of its type, or the most negative."""
    figures = _LARGEST if largest else _NEGATIVE
    for field in message.DESCRIPTOR.fields:
        kind = field.message_type
        if kind is not None and kind.GetOptions().map_entry:
            continue
        if kind is not None and field.is_repeated:
            for one in getattr(message, field.name):
                spoil(one, largest=largest)
        elif kind is not None and message.HasField(field.name):
            spoil(getattr(message, field.name), largest=largest)
        elif kind is None and field.cpp_type in figures and not field.is_repeated:
            setattr(message, field.name, figures[field.cpp_type])
