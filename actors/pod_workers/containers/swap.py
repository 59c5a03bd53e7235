"""The swap limit of a container (KEP-2400). Pure."""

from __future__ import annotations

from typing import Final

import msgspec

from actors.shared.kube.container import Container
from actors.shared.kube.pod import Pod
from actors.shared.kube.pods import container_limits, container_requests, is_critical, qos_class

from .resources import ResourcesHost, enforced_limits

LIMITED: Final = "LimitedSwap"
_V2_FILE: Final = "memory.swap.max"


class SwapFields(msgspec.Struct, frozen=True):
    """The runtime's swap fields."""

    memory_swap_bytes: int = 0
    """cgroup v1: of memory and swap together; 0 is not set."""
    unified: dict[str, str] = {}
    """cgroup v2: the file to write."""


def swap_fields(pod: Pod, container: Container, behavior: str, machine: ResourcesHost) -> SwapFields:
    """`behavior`: memorySwap.swapBehavior. Empty if the kernel does not account for swap. On v1, as in the kubelet, the
    limit covers memory and swap together, and equals the memory limit, which may be the pod's."""
    if not machine.accounts_swap:
        return SwapFields()
    if not machine.cgroup_v2:
        return SwapFields(memory_swap_bytes=enforced_limits(pod, container).get("memory", 0))
    return SwapFields(unified={_V2_FILE: str(allowed_swap(pod, container, behavior, machine))})


def allowed_swap(pod: Pod, container: Container, behavior: str, machine: ResourcesHost) -> int:
    """Bytes, on cgroup v2: the share of the node's swap equals the container's requested share of the node's memory.
    Only for Burstable pods that are not critical, and containers that request less than their limit."""
    requested = container_requests(container).get("memory", 0)
    if behavior != LIMITED or is_critical(pod) or qos_class(pod) != "Burstable":
        return 0
    if not 0 < requested <= machine.memory or requested == container_limits(container).get("memory", 0):
        return 0
    return machine.swap * requested // machine.memory
