"""The size of a sandbox during a resize of its containers."""

from __future__ import annotations

import pytest

from actors.pod_workers.containers.sandbox_config import larger
from proto import cri_pb2 as cri


def size(shares: int, quota: int, memory: int) -> cri.LinuxContainerResources:
    return cri.LinuxContainerResources(
        cpu_shares=shares, cpu_quota=quota, cpu_period=100_000, memory_limit_in_bytes=memory
    )


@pytest.mark.parametrize(
    ("one", "other", "both"),
    [
        (size(100, 10_000, 64), size(200, 20_000, 32), size(200, 20_000, 64)),
        (size(100, 0, 64), size(200, 20_000, 0), size(200, 0, 0)),  # no limit is larger than any
        (size(100, -1, 64), size(200, 20_000, 64), size(200, -1, 64)),
    ],
)
def test_the_larger_of_two_sizes_is_the_larger_one_in_each_resource(
    one: cri.LinuxContainerResources, other: cri.LinuxContainerResources, both: cri.LinuxContainerResources
) -> None:
    assert larger(one, other) == larger(other, one) == both
