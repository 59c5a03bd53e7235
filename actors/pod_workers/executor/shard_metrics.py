"""Metrics of a shard's pods: synchronizations, starts of sandboxes and containers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from actors.pod_workers.errors import StartFailed
from actors.shared.kube.pod import Pod
from actors.shared.kube.pods import is_static
from actors.shared.metrics.pods import STATIC_LABELS
from supervision.metrics import Metrics

_CONTAINERS: Final = "kubelet_started_containers_total"


def container_type(pod: Pod, name: str) -> str:
    """The kubelet's label of a container."""
    if any(one.name == name for one in pod.spec.initContainers):
        return "init_container"
    if any(one.name == name for one in pod.spec.ephemeralContainers):
        return "ephemeral_container"
    return "container"


class ShardMetrics:
    """The metrics of one shard."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        for label in STATIC_LABELS.values():
            metrics.count("kubelet_restarted_pods_total", 0, static=label)  # there from the start, as the kubelet's

    def sandbox_starts(self, pod: Pod, attempt: int) -> None:
        """A sandbox is about to start."""
        self._metrics.count("kubelet_started_pods_total")
        if pod.spec.hostUsers is False:
            self._metrics.count("kubelet_started_user_namespaced_pods_total")
        if not attempt:
            self._metrics.observe("kubelet_containers_per_pod_count", len(pod.spec.containers))

    def sandbox_failed(self, pod: Pod) -> None:
        self._metrics.count("kubelet_started_pods_errors_total")
        if pod.spec.hostUsers is False:
            self._metrics.count("kubelet_started_user_namespaced_pods_errors_total")

    def sandbox_ran(self, handler: str, seconds: float, *, failed: bool) -> None:
        """The runtime has answered RunPodSandbox. `handler`: the runtime class's, '' for the default one."""
        self._metrics.observe("kubelet_run_podsandbox_duration_seconds", seconds, runtime_handler=handler)
        if failed:
            self._metrics.count("kubelet_run_podsandbox_errors_total", runtime_handler=handler)

    def container_starts(self, pod: Pod, name: str) -> None:
        """A container is about to start."""
        self._metrics.count(_CONTAINERS, container_type=container_type(pod, name))

    def container_failed(self, pod: Pod, name: str, reason: str) -> None:
        """`reason`: of its waiting state."""
        kind = container_type(pod, name)
        self._metrics.count("kubelet_started_containers_errors_total", code=reason, container_type=kind)

    def first_sync(self, seconds: float) -> None:
        """A pod is synchronized for the first time, `seconds` after it was first seen."""
        self._metrics.observe("kubelet_pod_worker_start_duration_seconds", seconds)

    def synced(self, operation: str, seconds: float) -> None:
        """`operation`: create, update, sync, kill or terminated."""
        self._metrics.observe("kubelet_pod_worker_duration_seconds", seconds, operation_type=operation)

    def resized(self, seconds: float, *, success: bool) -> None:
        """A resize was carried out, or failed."""
        label = "true" if success else "false"
        self._metrics.observe("kubelet_pod_resize_duration_milliseconds", 1000 * seconds, success=label)

    def resize_requested(self, resource: str, requirement: str, operation: str) -> None:
        """The spec asks for another amount of a resource for a container."""
        self._metrics.count(
            "kubelet_container_requested_resizes_total",
            resource=resource,
            requirement=requirement,
            operation=operation,
        )

    def resize_infeasible(self, detail: str) -> None:
        """A resize was finally refused. `detail`: the kubelet's name of the reason."""
        self._metrics.count("kubelet_pod_infeasible_resizes_total", reason_detail=detail)

    @contextmanager
    def image_volume(self) -> Iterator[None]:
        """The image of a volume is requested; a running pull counts once it has ended."""
        try:
            yield
        except StartFailed as failure:
            if failure.reason:
                self._metrics.count("kubelet_image_volume_requested_total")
                self._metrics.count("kubelet_image_volume_mounted_errors_total")
            raise
        self._metrics.count("kubelet_image_volume_requested_total")
        self._metrics.count("kubelet_image_volume_mounted_succeed_total")

    def restarted(self, pod: Pod) -> None:
        """A pod came back with the UID of one that ended."""
        self._metrics.count("kubelet_restarted_pods_total", static=STATIC_LABELS[is_static(pod)])

    def orphan(self) -> None:
        """The runtime runs a pod that no source has."""
        self._metrics.count("kubelet_orphaned_runtime_pods_total")
