"""Which pod is evicted for a threshold, and with which words. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Final

from actors.shared.config.fields.eviction import Threshold
from actors.shared.kube.pods import grace_period, is_critical, pod_requests
from actors.shared.kube.quantity import QuantityError

from .ending_pods import PREEMPTING, Ending
from .explanation import explain
from .local_storage import violation
from .ranking import Contender, ranked
from .resources import RESOURCE_OF, Layout
from .thresholds import Observation
from .usage import PodUsage, used_of
from .usage_reader import Active

HARD_GRACE_SECONDS: Final = 1


def evictable(pods: Iterable[Active], ending: Collection[str]) -> list[Active]:
    """Critical pods are passed over."""
    return [one for one in pods if one.uid not in ending and not is_critical(one.pod)]


def victim(pods: Iterable[Active], usages: Mapping[str, PodUsage], signal: str, layout: Layout) -> Active | None:
    """The first one by the reference's ranking."""
    by_uid, resource = {one.uid: one for one in pods}, RESOURCE_OF[signal]
    contenders = [
        Contender(
            uid=uid,
            priority=one.pod.spec.priority or 0,
            request=_request(one, resource),
            used=used_of(signal, one.pod, usages[uid], layout) if uid in usages else None,
        )
        for uid, one in by_uid.items()
    ]
    first = next(iter(ranked(resource, contenders)), None)
    return by_uid[first.uid] if first is not None else None


def of_threshold(
    pod: Active, usage: PodUsage | None, threshold: Threshold, observation: Observation | None, most_grace: int
) -> Ending:
    """`most_grace`: evictionMaxPodGracePeriod, for soft thresholds."""
    grace, own = HARD_GRACE_SECONDS, pod.pod.spec.terminationGracePeriodSeconds
    if threshold.grace_seconds:
        grace = max(HARD_GRACE_SECONDS, most_grace if own is None else min(most_grace, own))
    said = explain(pod.pod, usage, threshold, observation)
    return Ending(
        uid=pod.uid,
        namespace=pod.pod.metadata.namespace,
        name=pod.pod.metadata.name,
        message=said.message,
        grace_seconds=grace,
        signal=threshold.signal,
        disruption=said.message,
        annotations=said.annotations,
    )


def preempted(pods: Iterable[Active], uids: Collection[str], resource: str) -> list[Ending]:
    """The pods with these UIDs end in their own grace period; `resource`: what a critical pod lacks."""
    return [
        Ending(
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


def over_limits(pods: Iterable[Active], usages: Mapping[str, PodUsage], layout: Layout) -> list[Ending]:
    """The pods that are over a limit of their local storage. A controller is not told that they were disrupted."""
    found = ((one, violation(one.pod, usages[one.uid], layout)) for one in pods if one.uid in usages)
    return [
        Ending(
            uid=one.uid,
            namespace=one.pod.metadata.namespace,
            name=one.pod.metadata.name,
            message=said.message,
            grace_seconds=HARD_GRACE_SECONDS,
            signal=said.signal,
        )
        for one, said in found
        if said is not None
    ]


def _request(pod: Active, resource: str) -> int:
    try:
        return pod_requests(pod.pod).get(resource, 0)
    except QuantityError:
        return 0
