"""Which objects a pod refers to."""

from __future__ import annotations

import json
from typing import Any

import pytest

from actors.api_clients.kube_client.messages import ObjectRef
from actors.api_clients.kube_client.pod_references import references, references_of
from actors.shared.kube.codec import ObjectError, decode_pod


def found(spec: dict[str, Any], phase: str = "") -> dict[str, bool]:
    pod = {"metadata": {"name": "p", "namespace": "ns"}, "spec": spec, "status": {"phase": phase}}
    refs = references(decode_pod(json.dumps(pod).encode()))
    assert all(ref.namespace == "ns" for ref in refs)
    return {f"{ref.kind}/{ref.name}": mounted for ref, mounted in refs.items()}


EVERYTHING = {
    "imagePullSecrets": [{"name": "pull"}, {}],
    "initContainers": [{"name": "i", "envFrom": [{"configMapRef": {"name": "init"}}]}],
    "containers": [
        {
            "name": "c",
            "envFrom": [{"secretRef": {"name": "all"}}],
            "env": [
                {"name": "A", "valueFrom": {"secretKeyRef": {"name": "one", "key": "k"}}},
                {"name": "B", "valueFrom": {"configMapKeyRef": {"name": "two", "key": "k"}}},
                {"name": "C", "value": "plain"},
                {"name": "D", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
            ],
        }
    ],
    "ephemeralContainers": [{"name": "e", "envFrom": [{"secretRef": {"name": "debug"}}]}],
    "volumes": [
        {"name": "s", "secret": {"secretName": "sec"}},
        {"name": "m", "configMap": {"name": "map"}},
        {"name": "c", "csi": {"driver": "d", "nodePublishSecretRef": {"name": "csi"}}},
        {"name": "p", "projected": {"sources": [{"secret": {"name": "ps"}}, {"configMap": {"name": "pm"}}, {}]}},
        {"name": "e", "emptyDir": {}},
    ],
}


def test_every_place_where_a_pod_names_one() -> None:
    assert found(EVERYTHING) == {
        "Secret/pull": False,
        "ConfigMap/init": False,
        "Secret/all": False,
        "Secret/one": False,
        "ConfigMap/two": False,
        "Secret/debug": False,
        "Secret/sec": True,
        "ConfigMap/map": True,
        "Secret/csi": False,
        "Secret/ps": True,
        "ConfigMap/pm": True,
    }


def test_an_object_used_as_volume_and_variable_counts_as_mounted() -> None:
    both = {
        "containers": [{"name": "c", "envFrom": [{"configMapRef": {"name": "m"}}]}],
        "volumes": [{"name": "v", "configMap": {"name": "m"}}],
    }
    assert found(both) == {"ConfigMap/m": True}


def test_a_pod_that_has_ended_needs_nothing() -> None:
    assert found(EVERYTHING, "Succeeded") == {}
    assert found(EVERYTHING, "Failed") == {}


def test_references_can_be_compared() -> None:
    assert ObjectRef("Secret", "a", "b") == ObjectRef("Secret", "a", "b")
    assert len({ObjectRef("Secret", "a", "b"), ObjectRef("Secret", "a", "b"), ObjectRef("Secret", "a", "c")}) == 2


def test_only_the_phase_of_an_ended_pod_is_read() -> None:
    assert references_of(b'{"spec": {"containers": 1}, "status": {"phase": "Failed"}}') == {}
    with pytest.raises(ObjectError):
        references_of(b'{"spec": {"containers": 1}, "status": {"phase": "Running"}}')
    with pytest.raises(ObjectError):
        references_of(b"no json")


def test_a_running_pod_has_the_references_of_its_spec() -> None:
    pod = {"metadata": {"namespace": "ns"}, "spec": EVERYTHING, "status": {"phase": "Running"}}
    data = json.dumps(pod).encode()
    assert references_of(data) == references(decode_pod(data)) != {}
