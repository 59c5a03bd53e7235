"""The generated modules say what CRI v1 says: cri_facts.txt lists every method, message, field and enum value."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from google.protobuf.descriptor import EnumDescriptor, FieldDescriptor, FileDescriptor, MethodDescriptor

from proto import cri_pb2

FACTS = Path(__file__).with_name("cri_facts.txt")
PACKAGE = "runtime.v1."
FILE: FileDescriptor = cri_pb2.DESCRIPTOR
SCALARS = {
    getattr(FieldDescriptor, f"TYPE_{name.upper()}"): name
    for name in ("double", "int32", "int64", "uint32", "uint64", "bool", "string", "bytes")
}


def type_of(field: FieldDescriptor) -> str:
    if field.enum_type is not None:
        return str(field.enum_type.full_name).removeprefix(PACKAGE)
    message = field.message_type
    if message is None:
        return SCALARS[field.type]
    if message.GetOptions().map_entry:
        return f"map<{type_of(message.fields_by_name['key'])},{type_of(message.fields_by_name['value'])}>"
    return str(message.full_name).removeprefix(PACKAGE)


def field_line(field: FieldDescriptor) -> str:
    text = f" {field.number} {field.name} {type_of(field)}"
    text += " repeated" if field.is_repeated and "map<" not in text else ""
    return text + (" deprecated" if field.GetOptions().deprecated else "")


def enum_lines(enum: EnumDescriptor) -> list[str]:
    return [f"enum {enum.full_name.removeprefix(PACKAGE)}", *(f" {v.number} {v.name}" for v in enum.values)]


def method_line(method: MethodDescriptor) -> str:
    stream = " stream" if method.server_streaming else ""
    return f" {method.name} {method.input_type.name} {method.output_type.name}{stream}"


def described() -> Iterator[frozenset[str]]:
    """Each service, enum and message as the lines it has in the file of facts; the first word group is its heading."""
    for service in FILE.services_by_name.values():
        yield frozenset([f"service {service.name}", *map(method_line, service.methods)])
    for enum in FILE.enum_types_by_name.values():
        yield frozenset(enum_lines(enum))
    for message in FILE.message_types_by_name.values():
        yield frozenset([f"message {message.name}", *map(field_line, message.fields)])
        for enum in message.enum_types:
            yield frozenset(enum_lines(enum))


def facts() -> Iterator[frozenset[str]]:
    block: list[str] = []
    for line in FACTS.read_text().splitlines():
        if line.startswith("#"):
            continue
        if not line.startswith(" ") and block:
            yield frozenset(block)
            block = []
        block.append(line)
    yield frozenset(block)


def test_the_descriptors_match_the_facts_exactly() -> None:
    wanted, got = set(facts()), set(described())
    assert got == wanted, {"missing or different": wanted - got, "not in the facts": got - wanted}


def test_the_facts_cover_the_whole_interface() -> None:
    assert len(set(facts())) == (
        len(FILE.services_by_name)
        + len(FILE.message_types_by_name)
        + len(FILE.enum_types_by_name)
        + sum(len(message.enum_types) for message in FILE.message_types_by_name.values())
    )
    assert FILE.package == "runtime.v1"


def test_the_methods_are_called_by_the_names_that_runtimes_serve() -> None:
    source = Path(cri_pb2.__file__).with_name("cri_pb2_grpc.py").read_text()
    for service in FILE.services_by_name.values():
        for method in service.methods:
            assert f"'/runtime.v1.{service.name}/{method.name}'" in source
