"""The resources of a pod as a whole, as its status shows them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from actors.shared.kube import codec
from actors.shared.kube.container import ResourceRequirements
from actors.shared.kube.pod import Pod
from actors.shared.pod_records import POD_LEVEL
from actors.status_manager.status.pod_resources import allocated, applied

OWN = {
    "requests": {"cpu": "1", "memory": "1Gi", "hugepages-2Mi": "4Mi"},
    "limits": {"cpu": "2", "memory": "1Gi", "hugepages-2Mi": "4Mi"},
}


def limited(cpu: str, memory: str, **more: Any) -> dict[str, Any]:
    amounts = {"cpu": cpu, "memory": memory}
    return {"name": "c", "resources": {"requests": amounts, "limits": amounts}} | more


def asking(**requests: str) -> dict[str, Any]:
    return {"name": "c", "resources": {"requests": requests}}


def pod(*containers: dict[str, Any], **spec: Any) -> Pod:
    metadata = {"name": "p", "namespace": "n", "uid": "u"}
    return codec.decode_pod(json.dumps({"metadata": metadata, "spec": {"containers": containers, **spec}}).encode())


def shown(wanted: Pod, phase: str, **actual: ResourceRequirements) -> tuple[dict[str, Any], dict[str, Any]] | None:
    found = applied(wanted, phase, actual)
    return None if found is None else (found.requests, found.limits)


def test_the_allocated_resources_are_those_of_all_containers_and_the_overhead():
    side = limited("100m", "16Mi", restartPolicy="Always")
    wanted = pod(limited("500m", "64Mi"), asking(cpu="400m"), initContainers=[side], overhead={"memory": "4Mi"})
    assert allocated(wanted) == {"cpu": "1", "memory": "84Mi"}


@pytest.mark.parametrize("text", ["128974848", "0.1Gi", "1e3"])
def test_an_amount_keeps_its_notation(text: str):
    assert allocated(pod(asking(memory=text))) == {"memory": text}


def test_pod_level_resources_replace_those_of_the_containers():
    wanted = pod(limited("100m", "16Mi"), resources=OWN)
    assert allocated(wanted) == {"cpu": "1", "memory": "1Gi", "hugepages-2Mi": "4Mi"}
    assert shown(wanted, "Running") == (OWN["requests"], OWN["limits"])


def test_a_pod_that_runs_shows_its_cpu_and_memory_only():
    wanted = pod(
        limited("1", "64Mi"), {"name": "d", "resources": {"limits": {"memory": "1Mi", "ephemeral-storage": "1Gi"}}}
    )
    requests, limits = {"cpu": "1", "memory": "65Mi"}, {"cpu": "1", "memory": "65Mi"}
    storage = {"ephemeral-storage": "1Gi"}
    assert shown(wanted, "Pending") == (requests | storage, limits | storage)
    assert shown(wanted, "Running") == (requests, limits), "also if one of them may use all CPUs"


def test_a_resize_that_is_not_applied_is_not_shown():
    """Seen: a limit below the memory in use is refused, and the pod's cgroup keeps the old one."""
    wanted = pod(limited("1", "30Mi"), limited("1", "10Mi", name="d"))
    actual = ResourceRequirements(requests={"cpu": "500m", "memory": "100Mi"}, limits={"cpu": "1", "memory": "120Mi"})
    assert shown(wanted, "Running", c=actual) == ({"cpu": "1500m", "memory": "110Mi"}, {"cpu": "2", "memory": "130Mi"})
    side = limited("1", "30Mi", name="s", restartPolicy="Always")
    wanted = pod(limited("1", "10Mi"), initContainers=[side])
    assert shown(wanted, "Running", s=actual) == ({"cpu": "1500m", "memory": "110Mi"}, {"cpu": "2", "memory": "130Mi"})


def test_a_resize_of_the_pod_level_that_is_not_applied_is_not_shown():
    current = ResourceRequirements(requests={"cpu": "1"}, limits={"memory": "3Gi"})
    found = applied(pod(limited("100m", "16Mi"), resources=OWN), "Running", {POD_LEVEL: current})
    assert found is not None
    assert (found.requests["cpu"], found.limits["memory"]) == ("1", "3Gi")


def test_the_kernels_minimum_of_cpu_is_not_shown():
    assert shown(pod({"name": "c"}), "Running") == ({}, {})
    tiny = {"name": "c", "resources": {"requests": {"cpu": "2m"}, "limits": {"cpu": "10m"}}}
    assert shown(pod(tiny), "Running") == ({}, {})
    assert shown(pod(tiny), "Pending") == ({"cpu": "2m"}, {"cpu": "10m"})


@pytest.mark.parametrize("odd", ["\n", "many", "1e999999999"])
def test_wrong_quantities_show_nothing(odd: str):
    wanted = pod(limited("1", odd))
    assert allocated(wanted) == {}
    assert shown(wanted, "Pending") is None
    assert shown(wanted, "Running") is None
