"""The message of a JSON object."""

from __future__ import annotations

from typing import Any

import pytest

from actors.shared.kube.protobuf.writing import Written, write
from proto import k8s_certificates_pb2, k8s_core_pb2, k8s_node_pb2, k8s_resource_pb2, k8s_reviews_pb2
from proto import k8s_pod_pb2 as core


def written(kind: Any, value: dict[str, Any]) -> Any:
    found = write(kind.DESCRIPTOR, value)
    assert (found.unfit, found.unknown) == ([], [])
    return kind.FromString(found.data)


def test_bytes_extra_values_and_raw_json_are_in_their_fields() -> None:
    assert dict(written(k8s_core_pb2.Secret, {"data": {"k": "/wA="}}).data) == {"k": b"\xff\x00"}
    request = {"request": "aGk=", "usages": ["client auth"], "extra": {"a": ["1"]}}
    spec = written(k8s_certificates_pb2.CertificateSigningRequestSpec, request)
    assert (spec.request, list(spec.usages), list(spec.extra["a"].items)) == (b"hi", ["client auth"], ["1"])
    opaque = {"driver": "d", "parameters": {"kind": "Settings", "a": [1]}}
    assert written(k8s_resource_pb2.OpaqueDeviceConfiguration, opaque).parameters.raw == b'{"kind":"Settings","a":[1]}'


@pytest.mark.parametrize(
    ("time", "seconds", "nanos"),
    [
        ("2026-11-23T12:00:00.001500Z", 1795435200, 1_500_000),
        ("2026-11-23T13:00:00+01:00", 1795435200, 0),
        ("1969-12-31T23:59:59.500000Z", -1, 500_000_000),
    ],
)
def test_a_time_with_microseconds_keeps_them(time: str, seconds: int, nanos: int) -> None:
    moment = written(k8s_node_pb2.LeaseSpec, {"renewTime": time}).renewTime
    assert (moment.seconds, moment.nanos) == (seconds, nanos)


def test_empty_values_of_pointers_are_there() -> None:
    spec = written(core.PodSpec, {"hostUsers": False, "securityContext": {}, "activeDeadlineSeconds": 0})
    assert spec.HasField("hostUsers")
    assert spec.HasField("securityContext")
    assert spec.HasField("activeDeadlineSeconds")
    assert not spec.HasField("priority")


def test_null_is_as_if_it_were_not_there() -> None:
    assert written(core.PodSpec, {"containers": None, "nodeSelector": None, "nodeName": None}) == core.PodSpec()


def test_kind_and_version_are_of_the_envelope() -> None:
    assert write(core.Pod.DESCRIPTOR, {"kind": "Pod", "apiVersion": "v1"}) == Written(b"", [], [])


def test_fields_that_the_message_lacks_are_named() -> None:
    pod = {
        "spec": {"nodeName": "n", "later": 1, "containers": [{"name": "c", "newer": {}}], "volumes": [{"name": "v"}]}
    }
    found = write(core.Pod.DESCRIPTOR, pod)
    assert (found.unfit, found.unknown) == ([], ["spec.later", "spec.containers[0].newer"])
    # a message whose fields JSON has one level higher is no field of JSON
    assert write(core.Volume.DESCRIPTOR, {"volumeSource": {"emptyDir": {}}}).unknown == ["volumeSource"]


@pytest.mark.parametrize(
    ("kind", "value", "path"),
    [
        (core.PodSpec, {"nodeName": 3}, "nodeName"),
        (core.PodSpec, {"priority": 1 << 31}, "priority"),
        (core.PodSpec, {"priority": "1"}, "priority"),
        (core.PodSpec, {"hostNetwork": "yes"}, "hostNetwork"),
        (core.PodSpec, {"containers": {"name": "c"}}, "containers"),
        (core.PodSpec, {"containers": ["c"]}, "containers[0]"),
        (core.PodSpec, {"nodeSelector": ["a"]}, "nodeSelector"),
        (core.PodSpec, {"nodeSelector": {"a": 1}}, "nodeSelector"),
        (core.PodSpec, {"overhead": {"cpu": True}}, "overhead[cpu]"),
        (core.Container, {"command": "sh"}, "command"),
        (k8s_core_pb2.Secret, {"data": {"k": "%"}}, "data"),
        (k8s_core_pb2.Secret, {"data": {"k": 5}}, "data"),
        (k8s_reviews_pb2.UserInfo, {"extra": {"a": "b"}}, "extra[a]"),
        (k8s_reviews_pb2.UserInfo, {"extra": {"a": [1]}}, "extra[a]"),
        (k8s_node_pb2.LeaseSpec, {"renewTime": "soon"}, "renewTime"),
        (k8s_node_pb2.LeaseSpec, {"renewTime": 5}, "renewTime"),
    ],
)
def test_values_of_another_type_are_named(kind: Any, value: dict[str, Any], path: str) -> None:
    found = write(kind.DESCRIPTOR, value)
    assert (found.unfit, found.unknown) == ([path], [])
