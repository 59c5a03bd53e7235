"""Pods in protobuf."""

from __future__ import annotations

import json
from typing import Any

import pytest

from actors.http_servers.pods_api.encoding import encoded
from actors.shared.kube.pod import Pod, PodStatus
from proto import k8s_pod_pb2 as core
from tests.support.message_fields import unnamed


def pod_of(value: dict[str, Any]) -> core.Pod:
    found = encoded(json.dumps(value).encode())
    assert found.left_out == []
    return core.Pod.FromString(found.data)


def test_names_times_and_lists_are_in_their_fields() -> None:
    found = pod_of(
        {
            "kind": "Pod",
            "metadata": {
                "name": "p", "labels": {"a": "b"}, "deletionTimestamp": None,
                "creationTimestamp": "2026-11-23T12:00:00Z",
                "managedFields": [{"manager": "m", "fieldsV1": {"f:spec": {}}}],
            },
            "spec": {"hostNetwork": True, "securityContext": {"supplementalGroups": [7, 8]}, "priority": -3},
            "status": {"phase": "Running", "podIPs": [{"ip": "10.0.0.1"}]},
        }
    )  # fmt: skip
    meta = found.metadata
    assert (meta.name, dict(meta.labels), meta.creationTimestamp.seconds) == ("p", {"a": "b"}, 1795435200)
    assert not meta.HasField("deletionTimestamp")
    assert meta.managedFields[0].fieldsV1.Raw == b'{"f:spec":{}}'
    assert (found.spec.hostNetwork, list(found.spec.securityContext.supplementalGroups)) == (True, [7, 8])
    assert (found.spec.priority, found.status.phase, found.status.podIPs[0].ip) == (-3, "Running", "10.0.0.1")


def test_inlined_fields_of_json_are_messages_of_their_own() -> None:
    key = {"name": "settings", "key": "k"}
    container = {
        "name": "c",
        "env": [{"name": "E", "valueFrom": {"configMapKeyRef": key}}],
        "envFrom": [{"secretRef": {"name": "s"}}],
        "livenessProbe": {"httpGet": {"path": "/", "port": "web"}, "periodSeconds": 3},
        "readinessProbe": {"tcpSocket": {"port": 80}},
        "resources": {"limits": {"cpu": "500m", "memory": 1024}},
    }
    debugger = {"name": "d", "image": "i", "targetContainerName": "c"}
    volume = {"name": "v", "emptyDir": {}}
    spec = pod_of({"spec": {"containers": [container], "ephemeralContainers": [debugger], "volumes": [volume]}}).spec
    one = spec.containers[0]
    reference = one.env[0].valueFrom.configMapKeyRef
    assert (reference.localObjectReference.name, reference.key) == ("settings", "k")
    assert one.envFrom[0].secretRef.localObjectReference.name == "s"
    assert (one.livenessProbe.handler.httpGet.port.type, one.livenessProbe.handler.httpGet.port.strVal) == (1, "web")
    assert (one.readinessProbe.handler.tcpSocket.port.type, one.readinessProbe.handler.tcpSocket.port.intVal) == (0, 80)
    assert one.livenessProbe.periodSeconds == 3
    assert {name: amount.string for name, amount in one.resources.limits.items()} == {"cpu": "500m", "memory": "1024"}
    assert spec.ephemeralContainers[0].ephemeralContainerCommon.image == "i"
    assert spec.ephemeralContainers[0].targetContainerName == "c"
    assert spec.volumes[0].volumeSource.HasField("emptyDir")


@pytest.mark.parametrize(
    ("pod", "path"),
    [
        ({"spec": {"hostNetwork": "yes"}}, "spec.hostNetwork"),
        ({"spec": {"containers": [{"name": 3}]}}, "spec.containers[0].name"),
        ({"spec": {"containers": "c"}}, "spec.containers"),
        ({"spec": []}, "spec"),
        ({"metadata": {"creationTimestamp": "yesterday"}}, "metadata.creationTimestamp"),
        ({"metadata": {"labels": {"a": 1}}}, "metadata.labels"),
        ({"metadata": {"labels": ["a"]}}, "metadata.labels"),
        ({"spec": {"overhead": {"cpu": []}}}, "spec.overhead[cpu]"),
    ],
)
def test_a_value_of_another_type_is_left_out_and_named(pod: dict[str, Any], path: str) -> None:
    found = encoded(json.dumps({**pod, "status": {"phase": "Running"}}).encode())
    assert found.left_out == [path]
    assert core.Pod.FromString(found.data).status.phase == "Running"


def test_a_field_of_a_later_version_of_the_api_is_left_out_as_there() -> None:
    assert pod_of({"spec": {"later": 1, "nodeName": "n"}}) == pod_of({"spec": {"nodeName": "n"}})


NOT_THERE = {"apiVersion", "kind", "workloadRef", "targetContainerName", "defaultMode"}
"""Of the object, which protobuf does not carry; of the API 1.35; of an ephemeral container and of a volume alone, where
the agent has one struct for these and for other containers and projections."""


def test_the_table_has_every_field_of_a_pod_that_this_agent_reads() -> None:
    ours = unnamed(Pod, core.Pod.DESCRIPTOR, "") + unnamed(PodStatus, core.PodStatus.DESCRIPTOR, "status")
    assert {path.rpartition(".")[2] for path in ours} == NOT_THERE, ours
