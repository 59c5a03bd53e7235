"""How JSON has the fields of a message."""

from __future__ import annotations

from actors.shared.kube.protobuf.schema import Scalar, Shape, map_value, schema_of
from proto import k8s_core_pb2, k8s_meta_pb2
from proto import k8s_pod_pb2 as core


def test_each_field_has_its_shape() -> None:
    fields = {field.name: field for field in schema_of(core.Volume.DESCRIPTOR).fields.values()}
    assert {name: field.shape for name, field in fields.items()} == {"name": Shape.ONE, "volumeSource": Shape.INLINE}
    secret = {field.name: field for field in schema_of(k8s_core_pb2.Secret.DESCRIPTOR).fields.values()}
    assert (secret["data"].shape, secret["data"].scalar) == (Shape.MAP, Scalar.BYTES)
    spec = {field.name: field for field in schema_of(core.PodSpec.DESCRIPTOR).fields.values()}
    assert (spec["containers"].shape, spec["containers"].message) == (Shape.MANY, core.Container.DESCRIPTOR)
    assert (spec["overhead"].shape, spec["overhead"].message) == (Shape.MAP, k8s_meta_pb2.Quantity.DESCRIPTOR)


def test_pointers_and_what_json_always_has_keep_empty_values() -> None:
    keeps = {field.name for field in schema_of(core.EnvVar.DESCRIPTOR).fields.values() if field.keeps_empty}
    assert keeps == {"name", "valueFrom"}
    assert schema_of(core.EnvVar.DESCRIPTOR).always == [("name", "")]
    assert schema_of(core.ContainerPort.DESCRIPTOR).always == [("containerPort", 0)]


def test_only_a_map_has_a_value_in_each_entry() -> None:
    fields = core.PodSpec.DESCRIPTOR.fields_by_name
    assert map_value(fields["nodeSelector"]) is not None
    assert map_value(fields["containers"]) is None
    assert map_value(fields["nodeName"]) is None
