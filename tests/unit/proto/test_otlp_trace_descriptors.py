"""What the agent sends to a collector is of OTLP, as otlp_trace_facts.txt lists it: a part of it, and nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor

from actors.shared.tracing.exporter import METHOD
from proto import otlp_trace_pb2

FACTS = Path(__file__).with_name("otlp_trace_facts.txt")
FILE = otlp_trace_pb2.DESCRIPTOR
SCALARS = {
    getattr(FieldDescriptor, f"TYPE_{name.upper()}"): name
    for name in ("string", "bytes", "bool", "int64", "uint32", "fixed32", "fixed64", "double")
}


def field_line(field: FieldDescriptor) -> str:
    other = field.message_type or field.enum_type
    kind = other.name if other is not None else SCALARS[field.type]
    return f"{field.number} {field.name} {kind}" + (" repeated" if field.is_repeated else "")


def messages(of: Iterator[Descriptor]) -> Iterator[Descriptor]:
    for message in of:
        yield message
        yield from messages(iter(message.nested_types))


def facts() -> dict[str, set[str]]:
    _, *blocks = re.split(r"^(?:message|enum) ", FACTS.read_text(), flags=re.MULTILINE)
    return {name: {line.strip() for line in lines} for name, *lines in (block.splitlines() for block in blocks)}


def described() -> dict[str, set[str]]:
    every = list(messages(iter(FILE.message_types_by_name.values())))
    enums: list[EnumDescriptor] = [enum for message in every for enum in message.enum_types]
    found = {message.name: set(map(field_line, message.fields)) for message in every}
    return found | {enum.name: {f"{value.number} {value.name}" for value in enum.values} for enum in enums}


def test_every_field_is_one_of_the_protocol() -> None:
    known = facts()
    assert {name: lines - known[name] for name, lines in described().items() if lines - known[name]} == {}


def test_the_service_is_called_by_the_name_that_collectors_have() -> None:
    source = Path(otlp_trace_pb2.__file__).with_name("otlp_trace_pb2_grpc.py").read_text()
    assert METHOD == "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
    assert f"'{METHOD}'" in source
