"""MemoryQoS (KEP-2570): the memory use above which the kernel throttles a container, and the memory that it never
reclaims (cgroup v2). Pure.

The amounts are the kubelet's for 1.36; the runtime writes them into the container's cgroup.
"""

from __future__ import annotations

import math
from typing import Final

import msgspec

from actors.shared.kube.container import Container
from actors.shared.kube.pod import Pod
from actors.shared.kube.pods import container_requests, qos_class

PAGE_BYTES: Final = 4096
TIERED: Final = "TieredReservation"


class MemoryQos(msgspec.Struct, frozen=True):
    """The node's settings."""

    throttling: float = 0.9
    """memoryThrottlingFactor."""
    tiered: bool = False
    """memoryReservationPolicy is TieredReservation."""
    allocatable: int = 0
    """Bytes that all pods of the node may have; replaces a missing limit."""
    page_bytes: int = PAGE_BYTES


def unified(pod: Pod, container: Container, limit: int, qos: MemoryQos) -> dict[str, str]:
    """Values by file: memory.high, and memory.min or memory.low. `limit`: bytes, of the container or of its pod; 0: it
    has none."""
    request = container_requests(container).get("memory", 0)
    found = {"memory.min": "0", "memory.low": "0"}  # also where it was protected before
    if qos.tiered and request:
        found = {"memory.min" if qos_class(pod) == "Guaranteed" else "memory.low": str(request)}
    high = memory_high(request, limit, qos)
    return {**found, "memory.high": str(high)} if high else found


def memory_high(request: int, limit: int, qos: MemoryQos) -> int:
    """The use in bytes (whole pages) above which the kernel throttles the container; 0: never."""
    most = limit or qos.allocatable
    if request == limit:
        return 0
    pages = math.floor((request + (most - request) * qos.throttling) / qos.page_bytes)
    high = pages * qos.page_bytes
    return high if high > request else 0
