"""Numbers of pods and containers, under the reference's names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

from actors.shared.kube.pod import ContainerStatus, PodStatus
from supervision.metrics import Metrics

from .known import Known, PodTable
from .phase import TERMINAL

TYPES: Final = {
    "initContainerStatuses": "init_container",
    "containerStatuses": "container",
    "ephemeralContainerStatuses": "ephemeral_container",
}
LIFECYCLES: Final = {"terminating": "terminating", "terminated": "terminated", "rejected": "terminated"}


class PodMetrics:
    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._working: set[tuple[str, str, str]] = set()
        """Labels that were there before, and go to 0."""

    def changed(self, known: Known, before: PodStatus | None, now: PodStatus) -> None:
        """A status has become another one."""
        self._metrics.count("status_manager_status_changes_total")
        if known.seen.worker_phase == "rejected" and (before is None or before.phase not in TERMINAL):
            self._metrics.count("kubelet_admission_rejections_total", reason=known.seen.reason)
        if before is None:
            return
        counted = {id_ for id_, _, _, _ in _ended(before)}
        for id_, kind, code, reason in _ended(now):
            if id_ not in counted:
                self._metrics.count(
                    "kubelet_terminated_containers_total", container_type=kind, exit_code=code, reason=reason
                )

    def gauges(self, table: PodTable) -> None:
        """How many there are, as of now."""
        known = list(table.known.values())
        for static in (True, False):
            of_kind = [each for each in known if each.static == static and not each.seen.removed]
            active = [each for each in of_kind if each.status is None or each.status.phase not in TERMINAL]
            label = "true" if static else "false"
            self._metrics.gauge("kubelet_desired_pods", len(of_kind), static=label)
            self._metrics.gauge("kubelet_active_pods", len(active), static=label)
        self._metrics.gauge("kubelet_mirror_pods", len(table.api.mirrors()))
        counts = Counter(_working(each) for each in known)
        self._working |= set(counts)
        for config, lifecycle, label in self._working:
            count = counts[config, lifecycle, label]
            self._metrics.gauge("kubelet_working_pods", count, config=config, lifecycle=lifecycle, static=label)


def _working(known: Known) -> tuple[str, str, str]:
    config = "orphan" if known.seen.removed else "desired"
    return config, LIFECYCLES.get(known.seen.worker_phase, "sync"), "true" if known.static else "false"


def _ended(status: PodStatus) -> Iterator[tuple[str, str, str, str]]:
    """Container id, type, exit code and reason of those that have ended."""
    for field, kind in TYPES.items():
        each: ContainerStatus
        for each in getattr(status, field):
            for ended in (each.state.terminated, each.lastState.terminated):
                if ended is not None and ended.containerID:
                    yield ended.containerID, kind, str(ended.exitCode), ended.reason
