"""What MemoryQoS has the runtime write."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.pod_workers.containers.memory_qos import MemoryQos, memory_high, unified
from actors.shared.kube.pod import Pod

MI = 1 << 20
NODE = MemoryQos(allocatable=1000 * MI)
TIERED = MemoryQos(tiered=True, allocatable=1000 * MI)


def files(requests: dict[str, Any], limits: dict[str, Any], qos: MemoryQos) -> dict[str, str]:
    container = {"name": "a", "image": "i", "resources": {"requests": requests, "limits": limits}}
    pod = msgspec.convert({"metadata": {"name": "p"}, "spec": {"containers": [container]}}, Pod)
    limit = int(limits.get("memory", "0Mi").removesuffix("Mi")) * MI
    return unified(pod, pod.spec.containers[0], limit, qos)


@pytest.mark.parametrize(
    ("request_mi", "limit_mi", "high"),
    [(100, 200, 190 * MI), (0, 100, 90 * MI), (100, 0, 910 * MI), (100, 100, 0), (0, 0, 0), (2000, 0, 0)],
)
def test_memory_high_is_between_request_and_limit_in_whole_pages(request_mi: int, limit_mi: int, high: int) -> None:
    assert memory_high(request_mi * MI, limit_mi * MI, NODE) == high


def test_the_factor_sets_the_distance_to_the_limit() -> None:
    half = MemoryQos(throttling=0.5, allocatable=1000 * MI)
    assert memory_high(100 * MI, 200 * MI, half) == 150 * MI
    assert memory_high(0, 4097, half) == 0, "less than a page"


def test_a_limit_less_than_a_page_above_the_request_slows_nothing_down() -> None:
    assert memory_high(100 * MI, 100 * MI + 4000, NODE) == 0


@given(st.integers(0, 1 << 40), st.integers(0, 1 << 40), st.floats(0.01, 1.0))
def test_memory_high_is_never_above_the_limit_and_always_whole_pages(request: int, limit: int, factor: float) -> None:
    found = memory_high(request, limit, MemoryQos(throttling=factor, allocatable=1 << 41))
    assert found % 4096 == 0
    assert found == 0 or found > request
    assert found <= (limit or 1 << 41)


def test_requested_memory_is_protected_only_under_the_tiered_policy() -> None:
    guaranteed = {"cpu": "1", "memory": "100Mi"}
    none = {"memory.min": "0", "memory.low": "0"}
    assert files(guaranteed, guaranteed, NODE) == none
    assert files(guaranteed, guaranteed, TIERED) == {"memory.min": str(100 * MI)}
    burstable = {"memory": "100Mi"}
    assert files(burstable, {"memory": "200Mi"}, NODE) == {**none, "memory.high": str(190 * MI)}
    assert files(burstable, {"memory": "200Mi"}, TIERED) == {
        "memory.low": str(100 * MI),
        "memory.high": str(190 * MI),
    }
    assert files({}, {}, TIERED) == none, "BestEffort"
