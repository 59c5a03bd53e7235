"""Which container the kernel kills first for memory."""

from __future__ import annotations

import pytest

from actors.pod_workers.containers.resources import oom_score
from tests.support.shard_harness import container, pod

GIB = 1 << 30


def sized(**resources: dict[str, str]) -> dict[str, object]:
    return container("a", resources=resources)


@pytest.mark.parametrize(
    ("containers", "spec", "expected"),
    [
        ([sized()], {}, 1000),
        ([sized(limits={"cpu": "1", "memory": "1Gi"})], {}, -997),
        ([sized(requests={"memory": "1Gi"})], {}, 750),
        ([sized(requests={"memory": "4Gi"})], {}, 3),
        ([sized(requests={"cpu": "1"})], {}, 999),
        ([sized(requests={"memory": "1Gi"})], {"priorityClassName": "system-node-critical"}, -997),
    ],
)
def test_a_higher_memory_request_gives_a_lower_oom_score(containers, spec, expected):
    wanted = pod(containers=containers, **spec)
    assert oom_score(wanted, wanted.spec.containers[0], 4 * GIB) == expected


def test_a_sidecar_is_killed_no_sooner_than_the_least_regular_container():
    side = container("s", restartPolicy="Always")
    wanted = pod(containers=[sized(requests={"memory": "2Gi"})], initContainers=[side])
    assert oom_score(wanted, wanted.spec.initContainers[0], 4 * GIB) == 500
    small = container("b", resources={"requests": {"memory": "1Gi"}})
    wanted = pod(containers=[sized(requests={"memory": "2Gi"}), small], initContainers=[side])
    assert oom_score(wanted, wanted.spec.initContainers[0], 4 * GIB) == 750, "of the one that requests the least"


def test_memory_requested_by_the_pod_alone_is_shared_by_its_containers_for_the_oom_score():
    containers = [sized(), container("b", resources={"requests": {"memory": "256Mi"}})]
    alone = pod(containers=containers)
    whole = pod(containers=containers, resources={"requests": {"memory": "768Mi"}})
    assert [oom_score(alone, one, GIB) for one in alone.spec.containers] == [999, 750]
    assert [oom_score(whole, one, GIB) for one in whole.spec.containers] == [750, 500]
