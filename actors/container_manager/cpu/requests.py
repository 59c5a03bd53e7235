"""The number of exclusive CPUs of a pod's containers. Pure."""

from __future__ import annotations

from actors.shared.kube.container import Container
from actors.shared.kube.huge_pages import is_huge_pages
from actors.shared.kube.pod import Pod
from actors.shared.kube.pods import container_requests, is_sidecar, qos_class


def exclusive_cpus(pod: Pod, container: Container) -> int:
    """The number of exclusive CPUs; 0: it runs on the shared CPUs. Only a container that requests a whole number, of a
    Guaranteed pod without pod-level resources (gate PodLevelResourceManagers), has exclusive CPUs."""
    if has_pod_resources(pod) or qos_class(pod) != "Guaranteed":
        return 0
    milli = container_requests(container).get("cpu", 0)
    return 0 if milli % 1000 else milli // 1000


def has_pod_resources(pod: Pod) -> bool:
    """Whether the pod itself requests cpu, memory or huge pages, besides its containers (KEP-2837)."""
    given = pod.spec.resources
    names = {*given.requests, *given.limits} if given is not None else set()
    return any(name in {"cpu", "memory"} or is_huge_pages(name) for name in names)


def exclusive_cpus_of_pod(pod: Pod) -> int:
    """The most exclusive CPUs that the pod has at one time. Sidecars keep running; other init containers end before the
    next one starts."""
    sidecars = most = 0
    for container in pod.spec.initContainers:
        count = exclusive_cpus(pod, container)
        most = max(most, sidecars + count)
        if is_sidecar(container):
            sidecars += count
    return max(most, sidecars + sum(exclusive_cpus(pod, container) for container in pod.spec.containers))
