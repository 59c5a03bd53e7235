"""Chooses the pods that make room for a critical pod. Pure.

Source: the kubelet's critical pod admission handler. It chooses as few Guaranteed pods as possible, as if all others
were gone; then as few Burstable pods; then BestEffort pods. Within a class it takes the pod that is nearest to the
missing amounts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from .checks.resources import shortages
from .request import Demand, NodeState, Refusal

PREFIX: Final = "Unexpected error while attempting to recover from admission failure: preemption: "
Lacking = Mapping[str, int]
"""By resource, in the units of Demand; `pods` is a number of pods. Only amounts above 0."""


class NoVictims(Exception):
    """No set of pods would free enough."""

    def __init__(self, left: Lacking) -> None:
        super().__init__(left)
        self.left = left


def victims(demand: Demand, node: NodeState, running: Iterable[Demand]) -> list[Demand] | Refusal:
    """The pods to end, or the refusal if all of them together would not free enough."""
    able = [one for one in running if one.uid != demand.uid and _may_preempt(demand, one)]
    try:
        return _choose(shortages(demand, node), able)
    except NoVictims as error:
        left = "".join(f"(res: {name}, q: {amount}), " for name, amount in error.left.items())
        text = "error finding a set of pods to preempt: no set of running pods found to reclaim resources: "
        return Refusal("UnexpectedAdmissionError", f"{PREFIX}{text}[{left}]")


def without(lacking: Lacking, pods: Iterable[Demand]) -> dict[str, int]:
    """The requirements that are still not met once these pods are gone."""
    left = dict(lacking)
    for pod in pods:
        left = {name: amount - _gives(pod, name) for name, amount in left.items()}
    return {name: amount for name, amount in left.items() if amount > 0}


def _may_preempt(pod: Demand, other: Demand) -> bool:
    if pod.critical and not other.critical:
        return True
    return pod.priority is not None and other.priority is not None and pod.priority > other.priority


def _choose(lacking: Lacking, able: list[Demand]) -> list[Demand]:
    """Raises NoVictims."""
    left = without(lacking, able)
    if left:
        raise NoVictims(left)
    classes = {qos: [one for one in able if one.qos == qos] for qos in ("Guaranteed", "Burstable", "BestEffort")}
    guaranteed = _nearest(without(lacking, [*classes["BestEffort"], *classes["Burstable"]]), classes["Guaranteed"])
    burstable = _nearest(without(lacking, [*classes["BestEffort"], *guaranteed]), classes["Burstable"])
    best_effort = _nearest(without(lacking, [*burstable, *guaranteed]), classes["BestEffort"])
    return _drop_unneeded(lacking, [*guaranteed, *burstable, *best_effort])


def _nearest(lacking: Lacking, pods: list[Demand]) -> list[Demand]:
    """Choose pods one by one until all requirements are met."""
    found, left, lacking = list[Demand](), list(pods), dict(lacking)
    while lacking and left:
        best = min(left, key=lambda pod: (_distance(lacking, pod), _gives(pod, "memory"), _gives(pod, "cpu")))
        left.remove(best)
        found.append(best)
        lacking = without(lacking, [best])
    return found


def _distance(lacking: Lacking, pod: Demand) -> float:
    return sum((max(0, amount - _gives(pod, name)) / amount) ** 2 for name, amount in lacking.items())


def _drop_unneeded(lacking: Lacking, chosen: list[Demand]) -> list[Demand]:
    """The candidates without those that are not needed; the most valuable are spared first."""
    for pod in list(chosen):
        others = [one for one in chosen if one is not pod]
        if not without(lacking, others):
            chosen = others
    return chosen


def _gives(pod: Demand, resource: str) -> int:
    return 1 if resource == "pods" else pod.requests.get(resource, 0)
