"""The memory and huge pages that containers of Guaranteed pods request from chosen NUMA nodes. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from actors.container_manager.cpu.requests import has_pod_resources
from actors.container_manager.topology.machine import MEMORY
from actors.shared.kube.container import Container
from actors.shared.kube.huge_pages import is_huge_pages
from actors.shared.kube.pod import Pod
from actors.shared.kube.pods import container_requests, is_sidecar, qos_class

Amounts = Mapping[str, int]
"""Bytes by type of memory."""


def requested_memory(pod: Pod, container: Container) -> dict[str, int]:
    """The container's memory and huge pages from chosen nodes, in bytes; nothing for a pod that is not Guaranteed or
    has pod-level resources."""
    if has_pod_resources(pod) or qos_class(pod) != "Guaranteed":
        return {}
    return {
        kind: size
        for kind, size in sorted(container_requests(container).items())
        if kind == MEMORY or is_huge_pages(kind)
    }


def pod_requested_memory(pod: Pod) -> dict[str, int]:
    """The most memory that the pod has at one time, of the types that its app containers request. As in the kubelet, a
    type that only init containers request gives no hint."""
    sidecars: dict[str, int] = {}
    most: dict[str, int] = {}
    for container in pod.spec.initContainers:
        step = plus(sidecars, requested_memory(pod, container))
        most = {kind: max(most.get(kind, 0), step.get(kind, 0)) for kind in most.keys() | step.keys()}
        if is_sidecar(container):
            sidecars = step
    asking = {kind for container in pod.spec.containers for kind in requested_memory(pod, container)}
    for container in pod.spec.containers:
        sidecars = plus(sidecars, requested_memory(pod, container))
    return {kind: max(most.get(kind, 0), sidecars.get(kind, 0)) for kind in sorted(asking)}


def plus(one: Amounts, other: Amounts) -> dict[str, int]:
    """The sums by type."""
    return {kind: one.get(kind, 0) + other.get(kind, 0) for kind in one.keys() | other.keys()}
