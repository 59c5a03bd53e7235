"""The downward API's resources: requests, limits and what stands in for a missing limit."""

from __future__ import annotations

from typing import Any

import pytest

from actors.shared.kube.codec import decode_pod, encode
from actors.shared.kube.meta import ResourceFieldSelector
from actors.shared.kube.resource_fields import ResourceFieldError, resource_field

NODE = {"cpu": 4000, "memory": 2**30, "ephemeral-storage": 2**20, "hugepages-2Mi": 2**21}


def found(resource: str, divisor: str = "", *, own: Any = None, of_pod: Any = None) -> str:
    spec = {"containers": [{"name": "a", "resources": own or {}}], **({"resources": of_pod} if of_pod else {})}
    pod = decode_pod(encode({"metadata": {}, "spec": spec}))
    return resource_field(pod, pod.spec.containers[0], ResourceFieldSelector(resource=resource, divisor=divisor), NODE)


@pytest.mark.parametrize(
    ("resource", "divisor", "expected"),
    [
        ("requests.cpu", "", "1"),
        ("requests.cpu", "1m", "250"),
        ("limits.memory", "1Mi", "65"),
        ("limits.hugepages-2Mi", "", "0"),
        ("requests.memory", "0", str(64 * 2**20 + 1)),
    ],
)
def test_a_value_is_in_units_of_the_divisor_rounded_up(resource: str, divisor: str, expected: str) -> None:
    own = {"requests": {"cpu": "250m"}, "limits": {"memory": str(64 * 2**20 + 1)}}
    assert found(resource, divisor, own=own) == expected


@pytest.mark.parametrize(("resource", "expected"), [("cpu", "4"), ("memory", str(2**30)), ("hugepages-2Mi", "0")])
def test_the_nodes_allocatable_replaces_a_missing_limit(resource: str, expected: str) -> None:
    assert found(f"limits.{resource}") == expected
    assert found(f"limits.{resource}", own={"limits": {resource: "0"}}) == expected


def test_the_pods_limit_comes_before_the_nodes_allocatable() -> None:
    assert found("limits.cpu", of_pod={"limits": {"cpu": "2"}}) == "2"
    assert found("limits.cpu", own={"limits": {"cpu": "1"}}, of_pod={"limits": {"cpu": "2"}}) == "1"


def test_a_missing_request_is_the_limit_else_0() -> None:
    assert found("requests.cpu", own={"limits": {"cpu": "3"}}) == "3"
    assert found("requests.cpu") == "0"


@pytest.mark.parametrize("resource", ["cpu", "limits", "limits.pods", "uses.cpu", "requests.example.com/gpu"])
def test_any_other_resource_is_refused(resource: str) -> None:
    with pytest.raises(ResourceFieldError):
        found(resource)
