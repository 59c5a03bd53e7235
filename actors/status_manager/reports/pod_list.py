"""The pods and their statuses, as answers: of all pods (GetPods), and of one (GetPodStatus). Pure."""

from __future__ import annotations

import msgspec

from actors.shared.kube import codec

from ..messages import Pods, PodStatusFound
from ..pods.pod_table import PodTable
from ..pods.tracked_pod import TrackedPod
from .pages import page
from .served_pods import list_item


def pod_list(table: PodTable, after: str = "") -> Pods:
    """A PodList of all pods, and the UIDs of those that no source has any more. `after`: of the last page."""

    def item(pod: TrackedPod) -> msgspec.Raw:
        return msgspec.Raw(codec.encode(list_item(pod, table.api.get(pod.uid))))

    items, rest = page(table.all(), after, item, lambda one: len(bytes(one)))
    removed = [each.uid for each in table.all() if each.observed.removed]
    return Pods(codec.encode({"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": items}), removed, rest)


def status_of(found: TrackedPod | None, uid: str) -> PodStatusFound:
    """The answer about the pod `uid`; empty if there is no such pod (`found` is None)."""
    if found is None:
        return PodStatusFound(uid, b"", b"")
    seen = found.observed
    return PodStatusFound(
        found.uid,
        seen.pod,
        codec.encode(found.status),
        seen.worker_phase,
        seen.termination_step,
        seen.last_error,
        seen.slow_call,
        seen.slow_since,
    )
