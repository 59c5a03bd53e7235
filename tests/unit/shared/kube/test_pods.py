"""Requests, QoS class and grace period follow from the pod object."""

from __future__ import annotations

from typing import Any

import pytest

from actors.shared.kube.codec import decode_pod, encode
from actors.shared.kube.container import Container, ResourceRequirements
from actors.shared.kube.pod import Pod, PodSpec
from actors.shared.kube.pods import (
    container_field,
    container_requests,
    grace_period,
    pod_requests,
    qos_class,
    with_resources,
)


def container(name: str, requests: dict[str, Any] | None = None, limits: Any = None, **fields: Any) -> dict[str, Any]:
    return {"name": name, "resources": {"requests": requests or {}, "limits": limits or {}}, **fields}


def pod(*containers: dict[str, Any], init: tuple[dict[str, Any], ...] = (), **spec: Any) -> Pod:
    body = {"containers": list(containers), "initContainers": list(init), **spec}
    return decode_pod(encode({"metadata": {"name": "p"}, "spec": body}))


def sidecar(name: str, cpu: str) -> dict[str, Any]:
    return container(name, {"cpu": cpu}, restartPolicy="Always")


def test_a_limit_replaces_a_missing_request() -> None:
    (one,) = pod(container("a", {"cpu": "1"}, {"cpu": "2", "memory": "1Ki"})).spec.containers
    assert container_requests(one) == {"cpu": 1000, "memory": 1024}


def test_containers_add_up_and_the_largest_init_container_counts() -> None:
    both = container("a", {"cpu": "1"}), container("b", {"cpu": "2"})
    assert pod_requests(pod(*both)) == {"cpu": 3000}
    assert pod_requests(pod(*both, init=(container("i", {"cpu": "1"}),)))["cpu"] == 3000
    assert pod_requests(pod(*both, init=(container("i", {"cpu": "5"}), container("j", {"cpu": "4"}))))["cpu"] == 5000


def test_a_sidecar_counts_with_the_init_containers_after_it_and_with_the_regular_ones() -> None:
    one = container("a", {"cpu": "1"})
    assert pod_requests(pod(one, init=(sidecar("s", "2"),)))["cpu"] == 3000
    assert pod_requests(pod(one, init=(sidecar("s", "2"), container("i", {"cpu": "4"}))))["cpu"] == 6000
    assert pod_requests(pod(one, init=(container("i", {"cpu": "4"}), sidecar("s", "2"))))["cpu"] == 4000


def test_pod_level_requests_win_and_overhead_is_added() -> None:
    resources = {"requests": {"cpu": "5"}, "limits": {"memory": "2Ki"}}
    found = pod_requests(pod(container("a", {"cpu": "1", "x": "3"}), resources=resources, overhead={"cpu": "250m"}))
    assert found == {"cpu": 5250, "memory": 2048, "x": 3}


BOTH = {"cpu": "1", "memory": "1Gi"}


@pytest.mark.parametrize(
    ("containers", "expected"),
    [
        ([container("a")], "BestEffort"),
        ([container("a", {"ephemeral-storage": "1Gi"})], "BestEffort"),
        ([container("a", {"cpu": "0"})], "BestEffort"),
        ([container("a", {"memory": "1"})], "Burstable"),
        ([container("a", None, {"cpu": "1"})], "Burstable"),
        ([container("a", None, BOTH)], "Guaranteed"),
        ([container("a", BOTH, BOTH)], "Guaranteed"),
        ([container("a", {"cpu": "500m"}, BOTH)], "Burstable"),
        ([container("a", BOTH, BOTH), container("b")], "Burstable"),
    ],
)
def test_the_qos_class_follows_from_cpu_and_memory(containers: list[dict[str, Any]], expected: str) -> None:
    assert qos_class(pod(*containers)) == expected


def test_pod_level_resources_decide_the_qos_class_where_there_are_any() -> None:
    assert qos_class(pod(container("a"), resources={"limits": BOTH})) == "Guaranteed"
    assert qos_class(pod(container("a"), resources={"requests": {"cpu": "1"}})) == "Burstable"
    assert qos_class(pod(container("a", BOTH, BOTH), resources={})) == "Guaranteed"


def test_the_grace_period_is_the_deletions_then_the_specs_then_30_seconds() -> None:
    deleted = decode_pod(
        encode({"metadata": {"deletionGracePeriodSeconds": 0}, "spec": {"terminationGracePeriodSeconds": 5}})
    )
    assert grace_period(deleted) == 0
    assert grace_period(pod(terminationGracePeriodSeconds=5)) == 5
    assert grace_period(pod(terminationGracePeriodSeconds=0)) == 0
    assert grace_period(pod()) == 30


def test_the_place_of_a_container_in_the_pod_is_that_of_its_kind() -> None:
    odd = pod(container("app"), init=(container("first"),), ephemeralContainers=[container("debugger")])
    assert container_field(odd, "app") == "spec.containers{app}"
    assert container_field(odd, "first") == "spec.initContainers{first}"
    assert container_field(odd, "debugger") == "spec.ephemeralContainers{debugger}"


def test_other_resources_are_those_of_init_and_regular_containers_and_of_the_pod() -> None:
    def asks(cpu: str) -> ResourceRequirements:
        return ResourceRequirements(requests={"cpu": cpu})

    spec = PodSpec(
        containers=[Container(name="a", image="i", resources=asks("1")), Container(name="b", image="i")],
        initContainers=[Container(name="c", resources=asks("2"))],
        resources=asks("3"),
    )
    given = {"a": asks("4"), "c": asks("5")}
    changed = with_resources(Pod(spec=spec), lambda one: given.get(one.name, one.resources), None).spec
    found = [(one.name, one.resources.requests.get("cpu")) for one in (*changed.containers, *changed.initContainers)]
    assert found == [("a", "4"), ("b", None), ("c", "5")]
    assert changed.containers[0].image == "i"
    assert changed.resources is None
