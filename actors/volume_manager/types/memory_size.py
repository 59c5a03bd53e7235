"""The size limit of a volume in memory. Pure."""

from __future__ import annotations

from actors.shared.kube.container import Container
from actors.shared.kube.pod import Pod
from actors.shared.kube.pods import cgroup_limits

from .base import PodContext


def smallest(context: PodContext, limit: int = 0) -> int:
    """Bytes: the smallest of the node's memory, the limit of the pod's cgroup and the volume's own `limit` (KEP-1967).
    0: none."""
    sizes = (context.node_memory, cgroup_limits(context.pod).get("memory", 0), limit)
    return min((size for size in sizes if size > 0), default=0)


def containers_of(pod: Pod) -> list[Container]:
    return [*pod.spec.initContainers, *pod.spec.containers]
