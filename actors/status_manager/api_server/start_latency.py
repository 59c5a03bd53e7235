"""How long pods take to start, as the kubelet measures it.

The startup latency SLI of SIG Scalability: from the pod's creation until the API shows all its containers started,
without image pulls and init containers, for pods without stateful volumes. Of a static pod it counts from the creation
of its mirror.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from actors.shared.kube.names import CONFIG_SEEN
from actors.shared.kube.pod import Pod
from actors.shared.kube.times import seconds
from supervision.metrics import Metrics

from ..pods.api_pods import ApiPod
from ..pods.tracked_pod import TrackedPod

STATELESS: Final = ("emptyDir", "secret", "configMap", "downwardAPI", "projected")
Span = tuple[float, float]
"""Begin and end, seconds since 1970."""


class StartLatency:
    """Each pod is measured once; one that had started before this agent is not measured."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._measured: dict[str, bool] = {}
        """By UID: True once it has been measured, or if it never will be."""
        self._is_first = True

    def forget(self, uid: str) -> None:
        self._measured.pop(uid, None)

    def first_running(self, tracked: TrackedPod, now: float) -> None:
        """The pod is Running for the first time; the latency counts from when this agent first saw it. The annotation
        of a static pod may be older: it has the time of its file, also after a reboot."""
        seen = seconds(tracked.pod.metadata.annotations.get(CONFIG_SEEN))
        started_at = max(seen, tracked.first_seen)
        self._metrics.observe("kubelet_pod_start_duration_seconds", max(0.0, now - started_at))

    def watched(self, pod: ApiPod, tracked: TrackedPod | None, now: float) -> None:
        """The watch shows the pod in this state."""
        done = self._measured.setdefault(pod.uid, pod.status.startTime is not None)
        created = seconds(pod.metadata.creationTimestamp)
        if done or tracked is None or not created or not _all_running(pod):
            return
        self._measured[pod.uid] = True
        total = max(0.0, now - created)
        self._metrics.observe("kubelet_pod_start_total_duration_seconds", total)
        if not _stateless(tracked.pod):
            return
        spans = [*((begin, end) for begin, end in tracked.observed.pulls), *_init_spans(pod)]
        sli = max(0.0, total - union(span for span in spans if span[0] >= created))
        self._metrics.observe("kubelet_pod_start_sli_duration_seconds", sli)
        if self._is_first and not tracked.pod.spec.hostNetwork:
            self._is_first = False
            self._metrics.gauge("kubelet_first_network_pod_start_sli_duration_seconds", sli)


def _all_running(pod: ApiPod) -> bool:
    statuses = pod.status.containerStatuses
    return bool(statuses) and all(each.state.running is not None for each in statuses)


def _stateless(pod: Pod) -> bool:
    return all(any(getattr(volume, kind) is not None for kind in STATELESS) for volume in pod.spec.volumes)


def _init_spans(pod: ApiPod) -> list[Span]:
    ended = [each.state.terminated for each in pod.status.initContainerStatuses]
    return [(seconds(each.startedAt), seconds(each.finishedAt)) for each in ended if each is not None]


def union(spans: Iterable[Span]) -> float:
    """The seconds that at least one of the intervals covers."""
    total, until = 0.0, float("-inf")
    for begin, end in sorted(spans):
        total += max(0.0, end - max(begin, until))
        until = max(until, end)
    return total
