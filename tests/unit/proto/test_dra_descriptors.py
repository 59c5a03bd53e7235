"""The generated modules say what the DRA and DRA health APIs v1 say, as dra_facts.txt lists it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from google.protobuf.descriptor import Descriptor, FieldDescriptor, FileDescriptor

from proto import dra_health_pb2, dra_pb2

FACTS = Path(__file__).with_name("dra_facts.txt")
FILES: tuple[FileDescriptor, ...] = (dra_pb2.DESCRIPTOR, dra_health_pb2.DESCRIPTOR)
SCALARS = {FieldDescriptor.TYPE_STRING: "string", FieldDescriptor.TYPE_INT64: "int64"}


def type_of(field: FieldDescriptor) -> str:
    message = field.message_type
    if message is not None and message.GetOptions().map_entry:
        return f"map<{type_of(message.fields_by_name['key'])},{type_of(message.fields_by_name['value'])}>"
    named = message or field.enum_type
    return named.name if named else SCALARS[field.type]


def field_line(field: FieldDescriptor) -> str:
    kind = type_of(field)
    repeated = field.is_repeated and not kind.startswith("map<")
    optional = field.has_presence and not field.message_type
    return f" {field.number} {field.name} {kind}{' repeated' if repeated else ' optional' if optional else ''}"


def message_lines(message: Descriptor) -> frozenset[str]:
    return frozenset([f"message {message.name}", *map(field_line, message.fields)])


def described() -> Iterator[frozenset[str]]:
    for file in FILES:
        for service in file.services_by_name.values():
            methods = [
                f" {one.name} {one.input_type.name} {one.output_type.name}{' stream' if one.server_streaming else ''}"
                for one in service.methods
            ]
            yield frozenset([f"service {service.name}", *methods])
        yield from map(message_lines, file.message_types_by_name.values())
        for enum in file.enum_types_by_name.values():
            yield frozenset([f"enum {enum.name}", *(f" {value.number} {value.name}" for value in enum.values)])


def facts() -> set[frozenset[str]]:
    text = "\n".join(line for line in FACTS.read_text().splitlines() if not line.startswith("#"))
    return {frozenset(block.splitlines()) for block in text.strip().split("\n\n")}


def test_the_descriptors_match_the_facts_exactly() -> None:
    wanted, got = facts(), set(described())
    assert got == wanted, {"missing or different": wanted - got, "not in the facts": got - wanted}


def test_the_packages_are_those_that_drivers_answer_to() -> None:
    assert [file.package for file in FILES] == ["k8s.io.kubelet.pkg.apis.dra.v1", "v1"]
