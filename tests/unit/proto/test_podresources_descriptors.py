"""The generated modules say what the pod resources API v1 says, as podresources_facts.txt lists it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from google.protobuf.descriptor import Descriptor, FieldDescriptor

from proto import podresources_pb2

FACTS = Path(__file__).with_name("podresources_facts.txt")
FILE = podresources_pb2.DESCRIPTOR
SCALARS = {
    FieldDescriptor.TYPE_STRING: "string",
    FieldDescriptor.TYPE_INT64: "int64",
    FieldDescriptor.TYPE_UINT64: "uint64",
}


def field_line(field: FieldDescriptor) -> str:
    kind = field.message_type.name if field.message_type else SCALARS[field.type]
    label = " repeated" if field.is_repeated else " optional" if field.has_presence and not field.message_type else ""
    return f" {field.number} {field.name} {kind}{label}"


def message_lines(message: Descriptor) -> list[str]:
    return [f"message {message.name}", *map(field_line, message.fields)]


def described() -> set[frozenset[str]]:
    methods = FILE.services_by_name["PodResourcesLister"].methods
    service = [f" {method.name} {method.input_type.name} {method.output_type.name}" for method in methods]
    messages = map(message_lines, FILE.message_types_by_name.values())
    return {frozenset(["service PodResourcesLister", *service]), *map(frozenset, messages)}


def facts() -> Iterator[frozenset[str]]:
    text = "\n".join(line for line in FACTS.read_text().splitlines() if not line.startswith("#"))
    for block in text.replace("\nmessage ", "\n\nmessage ").split("\n\n"):
        yield frozenset(block.splitlines())


def test_the_descriptors_match_the_facts_exactly() -> None:
    wanted, got = set(facts()), described()
    assert got == wanted, {"missing or different": wanted - got, "not in the facts": got - wanted}
    assert len(wanted) == 1 + len(FILE.message_types_by_name)


def test_the_service_is_called_by_the_name_that_monitors_use() -> None:
    source = Path(podresources_pb2.__file__).with_name("podresources_pb2_grpc.py").read_text()
    for method in ("List", "Get", "GetAllocatableResources"):
        assert f"'/v1.PodResourcesLister/{method}'" in source
