"""Which requests fit, at admission and at a resize."""

from __future__ import annotations

from typing import Any

import pytest

from actors.shared.admission.checks.resources import insufficient_resource, resize_refusal, shortages
from actors.shared.admission.node_object import NodeObject
from actors.shared.admission.request import AdmittedUsage, Demand, NodeState, PodAdmitAttributes, Refusal, usage_of
from actors.shared.kube.pod import Pod

NODE = {"cpu": 1000, "memory": 1000, "ephemeral-storage": 1000, "pods": 3, "hugepages-2Mi": 4}


def check(requests: dict[str, int], used: dict[str, int], pods: int = 0) -> Refusal | None:
    demand = Demand("u", requests, frozenset(), "Burstable")
    return insufficient_resource(
        PodAdmitAttributes(Pod(), demand), NodeState(allocatable=NODE, usage=AdmittedUsage(pods, used))
    )


def reason(found: Refusal | None) -> str:
    return found.reason if found is not None else ""


@pytest.mark.parametrize("resource", ["cpu", "memory", "ephemeral-storage", "hugepages-2Mi"])
def test_each_resource_runs_out_by_its_own_name(resource: str) -> None:
    text = f"Node didn't have enough resource: {resource}, requested: 998, used: 3, capacity: {NODE[resource]}"
    assert check({resource: 998}, {resource: 3}) == Refusal(f"OutOf{resource}", text)


def test_a_node_without_huge_pages_of_a_size_has_none() -> None:
    text = "Node didn't have enough resource: hugepages-1Gi, requested: 5, used: 0, capacity: 0"
    assert check({"hugepages-1Gi": 5}, {}) == Refusal("OutOfhugepages-1Gi", text)
    assert check({"hugepages-1Gi": 0}, {}) is None


def test_a_pod_that_fits_exactly_is_admitted() -> None:
    assert check({"cpu": 600}, {"cpu": 400}) is None
    assert reason(check({"cpu": 601}, {"cpu": 400})) == "OutOfcpu"


def test_the_number_of_pods_is_checked_first() -> None:
    assert reason(check({"cpu": 2000}, {}, pods=2)) == "OutOfcpu"
    assert reason(check({"cpu": 2000}, {}, pods=3)) == "OutOfpods"


def test_a_pod_that_requests_nothing_fits_on_an_overcommitted_node() -> None:
    assert check({}, {"cpu": 5000}) is None
    assert reason(check({"cpu": 1}, {"cpu": 5000})) == "OutOfcpu"


def test_what_is_missing_is_the_request_beyond_what_is_free() -> None:
    demand = Demand("u", {"cpu": 600, "memory": 100, "hugepages-1Gi": 5}, frozenset(), "Burstable")
    node = NodeState(allocatable=NODE, usage=AdmittedUsage(3, {"cpu": 700, "memory": 900}))
    assert shortages(demand, node) == {"pods": 1, "cpu": 300, "hugepages-1Gi": 5}
    overcommitted = NodeState(allocatable=NODE, usage=AdmittedUsage(1, {"cpu": 5000, "memory": 1100}))
    assert shortages(Demand("u", {"memory": 1}, frozenset(), "Burstable"), overcommitted) == {"memory": 101}


def test_the_usage_of_pods_is_their_sum() -> None:
    demands = [
        Demand("a", {"cpu": 2, "memory": 3}, frozenset({("0.0.0.0", 80, "TCP")}), "Burstable"),
        Demand("b", {"cpu": 5}, frozenset({("0.0.0.0", 81, "TCP")}), "Burstable"),
    ]
    ports = demands[0].ports | demands[1].ports
    assert usage_of(iter(demands)) == AdmittedUsage(2, {"cpu": 7, "memory": 3}, ports)
    assert usage_of([]) == AdmittedUsage()


def test_an_extended_resource_is_checked_where_the_node_lists_it_and_no_plugin_has_given_it() -> None:
    def found(listed: dict[str, int], **more: Any) -> str:
        demand = Demand("u", {"example.com/gpu": 2}, frozenset(), "Burstable", **more)
        usage = AdmittedUsage(1, {"example.com/gpu": 1})
        node = NodeState(allocatable=NODE, usage=usage, object=NodeObject(extended=listed))
        return reason(insufficient_resource(PodAdmitAttributes(Pod(), demand), node))

    assert check({"example.com/gpu": 1}, {}) is None
    assert found({}) == ""
    assert found({"example.com/gpu": 3}) == ""
    assert found({"example.com/gpu": 2}) == "OutOfexample.com/gpu"
    assert found({"example.com/gpu": 0}, served=frozenset({"example.com/gpu"})) == ""


def test_a_resize_is_checked_without_what_the_pod_has_itself() -> None:
    def resize(other: int, **requests: int) -> str:
        node = NodeState(allocatable={"cpu": 1000, "memory": 1000}, usage=AdmittedUsage(2, {"cpu": 400 + other}))
        before = Demand("a", {"cpu": 400}, frozenset(), "Burstable")
        return reason(resize_refusal(before, Demand("a", requests, frozenset(), "Burstable"), node))

    assert [resize(400, cpu=600), resize(400, cpu=601), resize(400, cpu=1001)] == ["", "OutOfcpu", "OutOfcpu"]
    assert [resize(400, cpu=400, memory=1000), resize(400, memory=1201)] == ["", "OutOfmemory"]
    assert resize(900, cpu=300) == "", "less always fits"
