"""The generated modules say what the pods API v1alpha1 says, as pods_api_facts.txt lists it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from google.protobuf.descriptor import Descriptor, FieldDescriptor, FileDescriptor

from proto import pods_api_pb2

FACTS = Path(__file__).with_name("pods_api_facts.txt")
FILES: tuple[FileDescriptor, ...] = (pods_api_pb2.DESCRIPTOR,)
SCALARS = {
    FieldDescriptor.TYPE_BOOL: "bool",
    FieldDescriptor.TYPE_BYTES: "bytes",
    FieldDescriptor.TYPE_INT32: "int32",
    FieldDescriptor.TYPE_INT64: "int64",
    FieldDescriptor.TYPE_STRING: "string",
}


def type_of(field: FieldDescriptor) -> str:
    message = field.message_type
    if message is not None and message.GetOptions().map_entry:
        return f"map<{type_of(message.fields_by_name['key'])},{type_of(message.fields_by_name['value'])}>"
    named = message or field.enum_type
    return named.name if named else SCALARS[field.type]


def field_line(field: FieldDescriptor) -> str:
    kind = type_of(field)
    return f" {field.number} {field.name} {kind}{' repeated' if field.is_repeated and '<' not in kind else ''}"


def message_lines(message: Descriptor) -> frozenset[str]:
    return frozenset([f"message {message.name}", *map(field_line, message.fields)])


def described() -> Iterator[frozenset[str]]:
    for file in FILES:
        yield from map(message_lines, file.message_types_by_name.values())
        for enum in file.enum_types_by_name.values():
            yield frozenset([f"enum {enum.name}", *(f" {one.number} {one.name}" for one in enum.values)])
        for service in file.services_by_name.values():
            methods = [
                f" {one.name} {one.input_type.name} {one.output_type.name}{' stream' if one.server_streaming else ''}"
                for one in service.methods
            ]
            yield frozenset([f"service {service.name}", *methods])


def facts() -> Iterator[frozenset[str]]:
    lines = [line for line in FACTS.read_text().splitlines() if not line.startswith("#")]
    starts = [number for number, line in enumerate(lines) if not line.startswith(" ")]
    for begin, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        yield frozenset(lines[begin:end])


def test_the_descriptors_match_the_facts_exactly() -> None:
    wanted, got = set(facts()), set(described())
    assert got == wanted, {"missing or different": wanted - got, "not in the facts": got - wanted}


def test_the_service_is_called_by_the_name_that_clients_use() -> None:
    source = Path(pods_api_pb2.__file__).with_name("pods_api_pb2_grpc.py").read_text()
    for method in ("ListPods", "GetPod", "WatchPods"):
        assert f"'/v1alpha1.Pods/{method}'" in source
