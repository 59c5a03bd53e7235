"""The resources of a container in its status."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.shared.cri.model import CriContainer, CriContainerState, CriResources
from actors.shared.kube.container import Container, ResourceRequirements
from actors.shared.kube.quantity import milli, quantity_value
from actors.status_manager.containers.container_resources import container_resources
from tests.support.present import present

GIVEN = {"requests": {"cpu": "100m", "memory": "64Mi"}, "limits": {"cpu": "1", "memory": "128Mi"}}


def shown(
    applied: CriResources | None, given_: dict | None = None, *, running: bool = True, actual: dict | None = None
):
    container = Container(name="a", resources=ResourceRequirements(**(given_ or GIVEN)))
    state = CriContainerState.RUNNING if running else CriContainerState.EXITED
    ran = CriContainer(id="c", name="a", pod_uid="u", state=state, resources=applied)
    found = present(container_resources(container, ran, actual or {}))
    return {"requests": dict(found.requests), "limits": dict(found.limits)}


AS_GIVEN = CriResources(cpu_shares=102, cpu_quota=100_000, cpu_period=100_000, memory_limit_bytes=128 << 20)


@pytest.mark.parametrize(
    ("applied", "changed"),
    [
        (AS_GIVEN, {}),
        (None, {}),
        (CriResources(), {}),
        (CriResources(cpu_shares=204), {"requests": {"cpu": "200m", "memory": "64Mi"}}),
        (CriResources(cpu_quota=150_000, cpu_period=100_000), {"limits": {"cpu": "1500m", "memory": "128Mi"}}),
        (CriResources(cpu_quota=200_000, cpu_period=100_000), {"limits": {"cpu": "2", "memory": "128Mi"}}),
        (CriResources(memory_limit_bytes=2 << 30), {"limits": {"cpu": "1", "memory": "2Gi"}}),
        (CriResources(memory_limit_bytes=1000), {"limits": {"cpu": "1", "memory": "1000"}}),
    ],
)
def test_the_resources_applied_by_the_runtime_are_shown(applied, changed):
    assert shown(applied) == {**GIVEN, **changed}


def test_a_container_without_any_limit_shows_none():
    assert shown(AS_GIVEN, {"requests": {"cpu": "100m"}}) == {"requests": {"cpu": "100m"}, "limits": {}}


def test_a_container_with_a_limit_shows_the_limits_that_come_from_its_pod():
    given_ = {"requests": {"memory": "1Mi"}, "limits": {"memory": "1Mi"}}
    applied = CriResources(cpu_shares=2, cpu_quota=200_000, cpu_period=100_000, memory_limit_bytes=1 << 20)
    assert shown(applied, given_) == {"requests": {"memory": "1Mi"}, "limits": {"cpu": "2", "memory": "1Mi"}}
    given_ = {"limits": {"cpu": "1"}}
    applied = CriResources(cpu_quota=100_000, cpu_period=100_000, memory_limit_bytes=8 << 30)
    assert shown(applied, given_)["limits"] == {"cpu": "1", "memory": "8Gi"}


def test_less_than_the_kernel_can_apply_is_shown_as_requested():
    tiny = {"requests": {"cpu": "1m"}, "limits": {"cpu": "5m"}}
    assert shown(CriResources(cpu_shares=2, cpu_quota=1000, cpu_period=100_000), tiny) == tiny


def test_a_container_that_does_not_run_has_what_it_was_given():
    assert shown(CriResources(memory_limit_bytes=2 << 30), running=False) == GIVEN


def test_during_a_resize_the_runtimes_value_wins_over_the_workers():
    moving = {"a": ResourceRequirements(limits={"memory": "256Mi"})}
    assert shown(None, actual=moving)["limits"] == {"memory": "256Mi"}
    assert shown(CriResources(memory_limit_bytes=64 << 20), actual=moving)["limits"] == {"memory": "64Mi"}


def test_a_container_that_is_not_created_has_none():
    assert container_resources(Container(name="a"), None, {}) is None


@given(st.integers(1, 1 << 45), st.integers(3, 64_000))
def test_the_shown_amount_is_the_applied_one(limit, cpu):
    applied = CriResources(cpu_quota=cpu * 100, cpu_period=100_000, memory_limit_bytes=limit)
    found = shown(applied)["limits"]
    assert quantity_value(found["memory"]) == limit
    assert milli(found["cpu"]) == cpu or cpu <= 10


@pytest.mark.parametrize("quota", [-1, 0])
def test_without_a_quota_the_limit_of_the_spec_is_shown(quota):
    """As on a node that enforces no limits of CPU."""
    assert shown(CriResources(cpu_quota=quota, cpu_period=100_000)) == GIVEN
    assert shown(CriResources(cpu_quota=100_000, cpu_period=0)) == GIVEN


@pytest.mark.parametrize(
    ("memory", "applied", "expected"),
    [("0.125Gi", 128 << 20, "0.125Gi"), ("134217728", 128 << 20, "134217728"), ("0.125Gi", 64 << 20, "64Mi")],
)
def test_an_amount_keeps_the_notation_of_the_spec_while_it_is_the_applied_one(memory, applied, expected):
    found = shown(CriResources(memory_limit_bytes=applied), {"limits": {"memory": memory}})
    assert found["limits"] == {"memory": expected}


def test_the_kernels_minimum_stands_for_what_is_not_more():
    def limit(wanted: str, quota: int) -> str:
        return str(
            shown(CriResources(cpu_quota=quota, cpu_period=100_000), {"limits": {"cpu": wanted}})["limits"]["cpu"]
        )

    assert [limit("10m", 500), limit("10m", 1000), limit("11m", 1000), limit("10m", 1100)] == [
        "10m",
        "10m",
        "10m",
        "11m",
    ]
