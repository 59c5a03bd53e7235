"""The generated modules say what Kubernetes' API 1.36 says of its objects, as k8s_facts.txt lists them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from google.protobuf.descriptor import Descriptor, FieldDescriptor, FileDescriptor

from proto import (
    k8s_certificates_pb2,
    k8s_core_pb2,
    k8s_meta_pb2,
    k8s_node_pb2,
    k8s_pod_pb2,
    k8s_resource_pb2,
    k8s_reviews_pb2,
    k8s_storage_pb2,
)

FACTS = Path(__file__).with_name("k8s_facts.txt")
FILES: tuple[FileDescriptor, ...] = (
    k8s_certificates_pb2.DESCRIPTOR, k8s_core_pb2.DESCRIPTOR, k8s_meta_pb2.DESCRIPTOR, k8s_node_pb2.DESCRIPTOR,
    k8s_pod_pb2.DESCRIPTOR, k8s_resource_pb2.DESCRIPTOR, k8s_reviews_pb2.DESCRIPTOR, k8s_storage_pb2.DESCRIPTOR,
)  # fmt: skip
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
    return message.name if message else SCALARS[field.type]


def field_line(field: FieldDescriptor) -> str:
    kind, options = type_of(field), field.GetOptions().Extensions
    marks = {
        "repeated": field.is_repeated and "<" not in kind,
        "optional": field.has_presence and field.message_type is None,
        "always": options[k8s_meta_pb2.always],
        "inline": options[k8s_meta_pb2.inline],
    }
    return " ".join(["", str(field.number), field.name, kind, *(mark for mark, is_set in marks.items() if is_set)])


def message_lines(message: Descriptor) -> frozenset[str]:
    name = message.full_name.removeprefix("k8s.io.").removeprefix("api.")
    return frozenset([f"message {name}", *map(field_line, message.fields)])


def facts() -> Iterator[frozenset[str]]:
    lines = [line for line in FACTS.read_text().splitlines() if not line.startswith("#")]
    starts = [number for number, line in enumerate(lines) if not line.startswith(" ")]
    for begin, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        yield frozenset(lines[begin:end])


def test_the_descriptors_match_the_facts_exactly() -> None:
    wanted = set(facts())
    got = {message_lines(message) for file in FILES for message in file.message_types_by_name.values()}
    assert got == wanted, {"missing or different": wanted - got, "not in the facts": got - wanted}


def test_lists_of_numbers_are_not_packed_as_in_the_api() -> None:
    groups = k8s_pod_pb2.PodSecurityContext(supplementalGroups=[7, 8]).SerializeToString()
    assert groups == bytes([4 << 3, 7, 4 << 3, 8])
