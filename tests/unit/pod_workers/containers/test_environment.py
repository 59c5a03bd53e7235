"""Environment, expansion and the downward API."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.pod_workers.containers.environment import EnvContext, environment
from actors.pod_workers.errors import ConfigError
from actors.shared.kube.codec import decode_pod, encode
from actors.shared.kube.variable_expansion import expand

PLACE = EnvContext(
    node_name="n", host_ips=["1.2.3.4"], pod_ips=["10.0.0.5", "fd00::5"], allocatable={"cpu": 1500, "memory": 2**30}
)


def env(*entries: dict, spec: dict | None = None, **container: object) -> dict[str, str]:
    body = {"name": "c", "env": list(entries), **container}
    meta = {"name": "p", "namespace": "d", "uid": "u", "labels": {"app": "x"}, "annotations": {"a/b": "y"}}
    whole = {"containers": [body], "serviceAccountName": "sa", **(spec or {})}
    pod = decode_pod(encode({"metadata": meta, "spec": whole}))
    return environment(pod, pod.spec.containers[0], PLACE).values


def field(path: str) -> dict:
    return {"name": "X", "valueFrom": {"fieldRef": {"fieldPath": path}}}


def resource(name: str, divisor: str = "") -> dict:
    return {"name": "X", "valueFrom": {"resourceFieldRef": {"resource": name, "divisor": divisor}}}


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("$(A)", "1"),
        ("$(B)", "$(B)"),
        ("$$(A)", "$(A)"),
        ("$", "$"),
        ("$(A", "$(A"),
        ("a$(A)$(A)b", "a11b"),
        ("$A", "$A"),
    ],
)
def test_names_are_expanded_and_unknown_ones_stay(text, result):
    assert expand(text, {"A": "1"}) == result


@given(st.text("$()AB", max_size=30))
def test_without_known_names_only_escapes_change(text):
    assert expand(text, {}) == text.replace("$$", "$") or "$$" in text


def test_a_value_can_refer_to_the_variables_before_it():
    assert env({"name": "A", "value": "1"}, {"name": "B", "value": "$(A)$(C)"}) == {"A": "1", "B": "1$(C)"}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("metadata.name", "p"),
        ("metadata.namespace", "d"),
        ("metadata.uid", "u"),
        ("metadata.labels['app']", "x"),
        ("metadata.annotations['a/b']", "y"),
        ("metadata.labels['none']", ""),
        ("spec.nodeName", "n"),
        ("spec.host", "n"),
        ("spec.serviceAccountName", "sa"),
        ("status.hostIP", "1.2.3.4"),
        ("status.podIP", "10.0.0.5"),
        ("status.podIPs", "10.0.0.5,fd00::5"),
    ],
)
def test_fields_of_the_pod_are_values(path, value):
    assert env(field(path)) == {"X": value}


@pytest.mark.parametrize(
    ("name", "divisor", "value"),
    [
        ("limits.cpu", "", "2"),
        ("limits.cpu", "1m", "1250"),
        ("requests.cpu", "1m", "1250"),
        ("limits.memory", "1Mi", "64"),
        ("requests.ephemeral-storage", "", "0"),
    ],
)
def test_resources_are_divided_and_rounded_up(name, divisor, value):
    limits = {"cpu": "1250m", "memory": "64Mi"}
    assert env(resource(name, divisor), resources={"limits": limits}) == {"X": value}


def test_a_missing_limit_is_what_the_node_has():
    assert env(resource("limits.cpu"), resource("limits.memory", "1Mi") | {"name": "M"}) == {"X": "2", "M": "1024"}


def test_a_pods_own_limit_replaces_a_missing_or_zero_limit_of_a_container():
    limits, zero = {"cpu": "1250m", "memory": "64Mi"}, {"limits": {"cpu": "0"}}
    whole = {"resources": {"limits": limits}}
    entries = [resource("limits.cpu"), resource("limits.memory", "1Mi") | {"name": "M"}]
    assert env(*entries, spec=whole) == {"X": "2", "M": "64"}
    assert env(resource("limits.cpu", "1m"), resources=zero) == {"X": "1500"}
    assert env(resource("limits.hugepages-2Mi"), resources=zero) == {"X": "0"}


@pytest.mark.parametrize(
    "entry",
    [
        field("spec.secret"),
        resource("limits.nvidia.com/gpu"),
        resource("limits"),
        {"name": "X", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}},
    ],
)
def test_a_missing_value_is_a_configuration_error(entry):
    with pytest.raises(ConfigError):
        env(entry)


def test_a_resource_of_another_container_is_that_containers_and_must_exist():
    other = {"name": "o", "resources": {"limits": {"cpu": "3"}}}
    entry = {"name": "X", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu", "containerName": "o"}}}
    pod = decode_pod(encode({"spec": {"containers": [{"name": "c", "env": [entry]}, other]}}))
    assert environment(pod, pod.spec.containers[0], PLACE).values == {"X": "3"}
    with pytest.raises(ConfigError, match="container o not found"):
        env(entry)


def test_a_pod_without_addresses_yet_has_empty_ones():
    entries = [field(path) | {"name": path} for path in ("status.podIP", "status.podIPs", "status.hostIP")]
    pod = decode_pod(encode({"spec": {"containers": [{"name": "c", "env": entries}]}}))
    nowhere = EnvContext(node_name="n", host_ips=[], pod_ips=[], allocatable={})
    found = environment(pod, pod.spec.containers[0], nowhere).values
    assert found == {"status.podIP": "", "status.podIPs": "", "status.hostIP": ""}


def test_a_value_goes_before_its_source():
    """The API server refuses both; a static pod may have them."""
    assert env({**field("metadata.name"), "value": "given"}) == {"X": "given"}


def test_an_optional_missing_reference_is_omitted():
    entry = {"name": "X", "valueFrom": {"configMapKeyRef": {"name": "s", "key": "k", "optional": True}}}
    assert env(entry) == {}
