"""The JSON of a message."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.shared.kube.protobuf import reading
from actors.shared.kube.protobuf.reading import read
from actors.shared.kube.protobuf.wire import Malformed
from proto import k8s_core_pb2, k8s_meta_pb2, k8s_node_pb2, k8s_reviews_pb2
from proto import k8s_pod_pb2 as core


def json_of(message: Any) -> Any:
    return json.loads(msgspec.json.encode(read(message.DESCRIPTOR, message.SerializeToString())))


def test_a_field_of_an_inner_message_is_where_json_has_it() -> None:
    source = core.VolumeSource(emptyDir=core.EmptyDirVolumeSource())
    assert json_of(core.Volume(name="v", volumeSource=source)) == {"name": "v", "emptyDir": {}}


def test_an_empty_value_is_there_if_it_is_a_pointer_or_json_always_has_it() -> None:
    # as gogo writes it: fields that are no pointers are there, also while they are empty
    empty = b"\x0a\x00\x12\x00\x1a\x00\x22\x00\x2a\x00"
    assert read(core.EnvVar.DESCRIPTOR, empty[:4]) == {"name": ""}
    claim = core.PersistentVolumeClaimSpec(storageClassName="", volumeName="")
    assert json_of(claim) == {"storageClassName": ""}
    assert json_of(core.ContainerStatus(name="c")) == {
        "name": "c", "ready": False, "restartCount": 0, "image": "", "imageID": "",
    }  # fmt: skip


def test_times_quantities_and_raw_json_are_as_in_json() -> None:
    entry = k8s_meta_pb2.ManagedFieldsEntry(
        manager="m", time=k8s_meta_pb2.Time(seconds=0, nanos=0), fieldsV1=k8s_meta_pb2.FieldsV1(Raw=b'{"f:spec":{}}')
    )
    assert json_of(entry) == {"manager": "m", "time": "1970-01-01T00:00:00Z", "fieldsV1": {"f:spec": {}}}
    lease = k8s_node_pb2.LeaseSpec(renewTime=k8s_meta_pb2.MicroTime(seconds=1795435200, nanos=1_500_000))
    assert json_of(lease) == {"renewTime": "2026-11-23T12:00:00.001500Z"}
    limits = {"cpu": k8s_meta_pb2.Quantity(string="500m"), "memory": k8s_meta_pb2.Quantity()}
    assert json_of(core.ResourceRequirements(limits=limits)) == {"limits": {"cpu": "500m", "memory": "0"}}
    for port, wanted in (
        (k8s_meta_pb2.IntOrString(intVal=80), 80),
        (k8s_meta_pb2.IntOrString(type=1, strVal="w"), "w"),
    ):
        assert json_of(core.TCPSocketAction(port=port)) == {"port": wanted}


def test_the_zero_time_is_left_out() -> None:
    state = core.ContainerStateRunning(startedAt=k8s_meta_pb2.Time())
    assert state.SerializeToString() == b"\x0a\x00"
    assert json_of(state) == {}


def test_bytes_are_base64_and_extra_values_are_lists() -> None:
    assert json_of(k8s_core_pb2.Secret(data={"k": b"\xff\x00"})) == {"data": {"k": "/wA="}}
    extra = {"a": k8s_reviews_pb2.ExtraValue(items=["1", "2"])}
    assert json_of(k8s_reviews_pb2.UserInfo(extra=extra)) == {"extra": {"a": ["1", "2"]}}


def test_numbers_are_read_packed_or_not() -> None:
    for data in (b"\x20\x07\x20\x08", b"\x22\x02\x07\x08"):
        assert read(core.PodSecurityContext.DESCRIPTOR, data) == {"supplementalGroups": [7, 8]}


def test_a_field_of_a_later_version_is_left_out() -> None:
    later = b"\x98\x3e\x05" + b"\xa2\x3e\x02hi"  # fields 995 and 996
    assert read(core.EnvVar.DESCRIPTOR, later + b"\x0a\x01n") == {"name": "n"}


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        (core.EnvVar, b"\x0a\x01\xff"),  # no UTF-8
        (core.EnvVar, b"\x08\x05"),  # a number in place of a string
        (core.PodSpec, b"\x5a\x01x"),  # a string in place of a flag
        (core.PodSpec, b"\x22\x01x"),  # a string in place of a number
        (core.Pod, b"\x08\x01"),  # a number in place of a message
        (core.Volume, b"\x10\x01"),
        (core.PodSpec, b"\x38\x01"),  # a number in place of an entry
        (core.PodSpec, b"\x3a\x02\x08\x01"),  # a number as a key
        (k8s_meta_pb2.ManagedFieldsEntry, b"\x3a\x04\x0a\x02{]"),
        (k8s_meta_pb2.ManagedFieldsEntry, b"\x3a\x05\x0a\x03\"\xff\""),
        (k8s_meta_pb2.ManagedFieldsEntry, b"\x22\x09\x08\xff\xff\xff\xff\xff\xff\xff\x7f"),  # a time in the year 10^9
        (k8s_node_pb2.LeaseSpec, b"\x22\x06\x10\x80\xa8\xd6\xb9\x07"),  # two thousand million nanoseconds
    ],
)  # fmt: skip
def test_values_of_another_type_are_malformed(kind: Any, data: bytes) -> None:
    with pytest.raises(Malformed):
        read(kind.DESCRIPTOR, data)


def test_raw_json_that_is_nested_too_deep_is_malformed() -> None:
    deep = k8s_meta_pb2.ManagedFieldsEntry(fieldsV1=k8s_meta_pb2.FieldsV1(Raw=b"[" * 100_000 + b"]" * 100_000))
    with pytest.raises(Malformed):
        json_of(deep)


def test_an_object_of_too_many_values_is_malformed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "MOST_VALUES", 1000)
    spec = core.PodSpec(containers=[core.Container() for _ in range(999)])
    assert len(json_of(spec)["containers"]) == 999
    spec.containers.add()
    spec.containers.add()
    with pytest.raises(Malformed, match="more values"):
        json_of(spec)


KINDS = (core.Pod, k8s_core_pb2.Node, k8s_core_pb2.Secret, k8s_node_pb2.Lease, k8s_meta_pb2.Status)


@given(st.sampled_from(KINDS), st.binary(max_size=200))
def test_no_bytes_raise_anything_else(kind: Any, data: bytes) -> None:
    try:
        msgspec.json.encode(read(kind.DESCRIPTOR, data))
    except Malformed:
        pass
