"""Metrics of pods and containers, under the kubelet's names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import product
from typing import Final

from actors.shared.kube.pod import ContainerStatus, PodStatus
from actors.shared.metrics.pods import STATIC_LABELS
from supervision.metrics import Metrics

from ..pods.pod_table import PodTable
from ..pods.tracked_pod import TrackedPod

TYPES: Final = {
    "initContainerStatuses": "init_container",
    "containerStatuses": "container",
    "ephemeralContainerStatuses": "ephemeral_container",
}
LIFECYCLES: Final = {"terminating": "terminating", "terminated": "terminated", "rejected": "terminated"}
_LIFECYCLE_LABELS: Final = ("sync", "terminating", "terminated")


VOLUME_LIMIT: Final = "VolumeAttachmentLimitExceeded"
REJECTIONS: Final = frozenset({
    "AppArmor", "Evicted", "InitContainerRestartPolicyForbidden", "InvalidNodeInfo", "NodeAffinity", "NodeName",
    "NodePorts", "NodeShutdown", "OutOfcpu", "OutOfephemeral-storage", "OutOfmemory", "OutOfpods", "PodOSNotSupported",
    "PodOSSelectorNodeLabelDoesNotMatch", "SupplementalGroupsPolicyNotSupported", "SysctlForbidden", "TaintToleration",
    "TopologyAffinityError", "UnexpectedAdmissionError", "UnexpectedPredicateFailureType", "UnknownReason",
    VOLUME_LIMIT,
})  # fmt: skip
"""The reasons that become labels. Others do not, so that pods cannot create series."""


def rejection_label(reason: str) -> str:
    """The label of a reason for which a pod was refused."""
    if reason in REJECTIONS:
        return reason
    return "OutOfExtendedResources" if reason.startswith("OutOf") else "Other"


class PodMetrics:
    """Counts on each change of a status, and gauges on demand."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._leftovers: dict[str, str] = {}
        """Phase of the worker, by UID."""

    def leftover(self, uid: str, worker_phase: str) -> None:
        """A worker ends a pod that is in the runtime and in no source."""
        self._leftovers[uid] = worker_phase

    def leftovers(self) -> list[str]:
        """Their UIDs."""
        return list(self._leftovers)

    def forget(self, uid: str) -> None:
        """No worker has this leftover any more."""
        self._leftovers.pop(uid, None)

    def changed(self, before: TrackedPod, after: TrackedPod) -> None:
        """Count a change of a pod's status."""
        self._metrics.count("status_manager_status_changes_total")
        if _was_refused(before, after):
            self._metrics.count("kubelet_admission_rejections_total", reason=rejection_label(after.observed.reason))
        if before.status is None or after.status is None:
            return
        counted = {container_id for container_id, _, _, _ in _ended_containers(before.status)}
        for container_id, kind, code, reason in _ended_containers(after.status):
            if container_id not in counted:
                self._metrics.count(
                    "kubelet_terminated_containers_total", container_type=kind, exit_code=code, reason=reason
                )

    def gauges(self, table: PodTable) -> None:
        """The current numbers of pods and containers."""
        pods = table.all()
        for static, label in STATIC_LABELS.items():
            of_kind = [each for each in pods if each.static == static and not each.observed.removed]
            self._metrics.gauge("kubelet_desired_pods", len(of_kind), static=label)
            self._metrics.gauge("kubelet_active_pods", sum(not each.terminal for each in of_kind), static=label)
        ephemeral = sum(len(each.pod.spec.ephemeralContainers) for each in pods if not each.observed.removed)
        self._metrics.gauge("kubelet_managed_ephemeral_containers", ephemeral)
        self._metrics.gauge("kubelet_mirror_pods", len(table.api.mirrors()))
        self._resizes(pods)
        counts = Counter(_working(each) for each in pods)
        for config, lifecycle, label in product(("desired", "orphan"), _LIFECYCLE_LABELS, STATIC_LABELS.values()):
            count = counts[config, lifecycle, label]
            self._metrics.gauge("kubelet_working_pods", count, config=config, lifecycle=lifecycle, static=label)
        left = Counter(LIFECYCLES.get(phase, "sync") for phase in self._leftovers.values())
        for lifecycle in _LIFECYCLE_LABELS:
            labels = {"config": "runtime_only", "lifecycle": lifecycle, "static": "unknown"}
            self._metrics.gauge("kubelet_working_pods", left[lifecycle], **labels)

    def _resizes(self, pods: Iterable[TrackedPod]) -> None:
        resizes = [each.observed.resize for each in pods if each.observed.resize is not None]
        for reason in ("Deferred", "Infeasible"):
            count = sum(resize.reason == reason for resize in resizes)
            self._metrics.gauge("kubelet_pod_pending_resizes", count, reason=reason.lower())
        self._metrics.gauge("kubelet_pod_in_progress_resizes", sum(resize.in_progress for resize in resizes))


def _working(tracked: TrackedPod) -> tuple[str, str, str]:
    """config, lifecycle, static."""
    config = "orphan" if tracked.observed.removed else "desired"
    lifecycle = LIFECYCLES.get(tracked.observed.worker_phase, "sync")
    return config, lifecycle, STATIC_LABELS[tracked.static]


def _was_refused(before: TrackedPod, after: TrackedPod) -> bool:
    """Whether the pod was refused, at its admission or later because the node has no room for its volumes."""
    if before.terminal:
        return False
    return after.observed.worker_phase == "rejected" or (after.observed.reason == VOLUME_LIMIT and after.terminal)


def _ended_containers(status: PodStatus) -> Iterator[tuple[str, str, str, str]]:
    """ID, type, exit code and reason of each container that has ended."""
    for field, kind in TYPES.items():
        each: ContainerStatus
        for each in getattr(status, field):
            for ended in (each.state.terminated, each.lastState.terminated):
                if ended is not None and ended.containerID:
                    yield ended.containerID, kind, str(ended.exitCode), ended.reason
