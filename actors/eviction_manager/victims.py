"""Selects the pods to evict and writes the reason of their eviction. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from actors.shared.config.fields.eviction import Threshold
from actors.shared.kube.pods import amount, grace_period, is_critical, pod_requests
from actors.shared.kube.quantity import QuantityError

from .explanation import explain
from .local_storage import violation
from .pod_evictions import HARD_GRACE_SECONDS, PREEMPTING, PodEviction
from .ranking import EvictionCandidate, ranked
from .resources import RESOURCE_OF, DiskLayout
from .thresholds import SignalObservation
from .usage import PodUsage, used_of
from .usage_reader import RunningPod


def evictable(pods: Iterable[RunningPod], ending: Collection[str]) -> list[RunningPod]:
    """The pods without critical pods and pods that are evicted already."""
    return [one for one in pods if one.uid not in ending and not is_critical(one.pod)]


def victim(
    pods: Iterable[RunningPod], usages: Mapping[str, PodUsage], signal: str, layout: DiskLayout
) -> RunningPod | None:
    """The first pod in the kubelet's ranking."""
    by_uid, resource = {one.uid: one for one in pods}, RESOURCE_OF[signal]
    candidates = [
        EvictionCandidate(
            uid=uid,
            priority=one.pod.spec.priority or 0,
            request=_request(one, resource),
            used=used_of(signal, one.pod, usages[uid], layout) if uid in usages else None,
        )
        for uid, one in by_uid.items()
    ]
    first = next(iter(ranked(resource, candidates)), None)
    return by_uid[first.uid] if first is not None else None


def of_threshold(
    pod: RunningPod,
    usage: PodUsage | None,
    threshold: Threshold,
    observation: SignalObservation | None,
    most_grace: int,
) -> PodEviction:
    """`most_grace`: evictionMaxPodGracePeriod in seconds; it applies to soft thresholds."""
    grace, own = HARD_GRACE_SECONDS, pod.pod.spec.terminationGracePeriodSeconds
    if threshold.grace_seconds:
        grace = max(HARD_GRACE_SECONDS, most_grace if own is None else min(most_grace, own))
    reason = explain(pod.pod, usage, threshold, observation)
    return PodEviction(
        uid=pod.uid,
        namespace=pod.pod.metadata.namespace,
        name=pod.pod.metadata.name,
        message=reason.message,
        grace_seconds=grace,
        signal=threshold.signal,
        disruption=reason.message,
        annotations=reason.annotations,
    )


def preempted(pods: Iterable[RunningPod], uids: Collection[str], resource: str) -> list[PodEviction]:
    """Evictions of the pods with these UIDs, in their own grace period. `resource`: the resource that the critical pod
    lacks."""
    return [
        PodEviction(
            uid=one.uid,
            namespace=one.pod.metadata.namespace,
            name=one.pod.metadata.name,
            reason=PREEMPTING,
            message="Preempted in order to admit critical pod",
            grace_seconds=grace_period(one.pod),
            signal=resource,
            disruption="Pod was preempted by Kubelet to accommodate a critical pod.",
        )
        for one in pods
        if one.uid in uids
    ]


def over_limits(pods: Iterable[RunningPod], usages: Mapping[str, PodUsage], layout: DiskLayout) -> list[PodEviction]:
    """Evictions of the pods that exceed a limit of local storage. The pods get no condition DisruptionTarget."""
    violations = ((one, violation(one.pod, usages[one.uid], layout)) for one in pods if one.uid in usages)
    return [
        PodEviction(
            uid=one.uid,
            namespace=one.pod.metadata.namespace,
            name=one.pod.metadata.name,
            message=broken.message,
            grace_seconds=HARD_GRACE_SECONDS,
            signal=broken.signal,
        )
        for one, broken in violations
        if broken is not None
    ]


def _request(pod: RunningPod, resource: str) -> int:
    """With the overhead of the pod, which alone is no request: such a pod is over it with the first byte."""
    overhead = pod.pod.spec.overhead
    try:
        most = pod_requests(pod.pod).get(resource, 0)
        alone = amount(resource, overhead[resource]) if resource in overhead else 0
    except QuantityError:
        return 0
    return most if most > alone else 0
