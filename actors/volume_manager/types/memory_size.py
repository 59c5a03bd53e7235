"""The size limit of a volume in memory. Pure."""

from __future__ import annotations

from actors.shared.kube.container import Container
from actors.shared.kube.pod import Pod
from actors.shared.kube.pods import container_limits
from actors.shared.kube.quantity import quantity_value

from .base import PodContext


def smallest(context: PodContext, limit: int = 0) -> int:
    """The smallest of the node's memory, the pod's limit and the volume's own `limit` (KEP-1967), in bytes; 0: none."""
    sizes = (context.node_memory, _pod_limit(context.pod), limit)
    return min((size for size in sizes if size > 0), default=0)


def containers_of(pod: Pod) -> list[Container]:
    return [*pod.spec.initContainers, *pod.spec.containers]


def _pod_limit(pod: Pod) -> int:
    """Bytes; 0 when a container has no limit."""
    if pod.spec.resources is not None and "memory" in pod.spec.resources.limits:
        return quantity_value(pod.spec.resources.limits["memory"])
    limits = [container_limits(container).get("memory", 0) for container in containers_of(pod)]
    return sum(limits) if all(limits) else 0
