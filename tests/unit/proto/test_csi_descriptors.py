"""The generated modules say what CSI and plugin registration say, as csi_facts.txt lists it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor

from proto import csi_pb2, plugin_registration_pb2

FACTS = Path(__file__).with_name("csi_facts.txt")
FILES = (csi_pb2.DESCRIPTOR, plugin_registration_pb2.DESCRIPTOR)
SCALARS = {
    FieldDescriptor.TYPE_STRING: "string",
    FieldDescriptor.TYPE_INT64: "int64",
    FieldDescriptor.TYPE_BOOL: "bool",
}


def field_line(field: FieldDescriptor) -> str:
    named = field.message_type or field.enum_type
    kind = named.name if named else SCALARS[field.type]
    return f" {field.number} {field.name} {kind}{' repeated' if field.is_repeated else ''}"


def message_lines(message: Descriptor) -> Iterator[str]:
    if message.GetOptions().map_entry:
        return
    yield f"message {message.full_name}"
    yield from map(field_line, message.fields)
    for inner in message.nested_types:
        yield from message_lines(inner)
    for enum in message.enum_types:
        yield from enum_lines(enum)


def enum_lines(enum: EnumDescriptor) -> Iterator[str]:
    yield f"enum {enum.full_name}"
    yield from (f" {value.number} {value.name}" for value in enum.values)


def described() -> Iterator[str]:
    for file in FILES:
        for service in file.services_by_name.values():
            yield f"service {service.full_name}"
            yield " " + " ".join(method.name for method in service.methods)
        for message in file.message_types_by_name.values():
            yield from message_lines(message)


def test_the_descriptors_match_the_facts_exactly() -> None:
    wanted = [line for line in FACTS.read_text().splitlines() if not line.startswith("#")]
    assert list(described()) == wanted
