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
Shortage = Mapping[str, int]
"""By resource, in the units of Demand; `pods` is a number of pods. Only amounts above 0."""


class NoVictims(Exception):
    """No set of pods would free enough."""

    def __init__(self, left: Shortage) -> None:
        super().__init__(left)
        self.left = left


def victims(demand: Demand, node: NodeState, running: Iterable[Demand]) -> list[Demand] | Refusal:
    """The pods to end, or the refusal if all of them together would not free enough. `running`: the other pods."""
    able = [one for one in running if _may_preempt(demand, one)]
    try:
        return _choose(shortages(demand, node), able)
    except NoVictims as error:
        left = "".join(f"(res: {name}, q: {amount}), " for name, amount in error.left.items())
        text = "error finding a set of pods to preempt: no set of running pods found to reclaim resources: "
        return Refusal("UnexpectedAdmissionError", f"{PREFIX}{text}[{left}]")


def without(shortage: Shortage, pods: Iterable[Demand]) -> dict[str, int]:
    """The requirements that are still not met once these pods are gone."""
    left = dict(shortage)
    for pod in pods:
        left = {name: amount - _gives(pod, name) for name, amount in left.items()}
    return {name: amount for name, amount in left.items() if amount > 0}


def _may_preempt(pod: Demand, other: Demand) -> bool:
    if pod.critical and not other.critical:
        return True
    return pod.priority is not None and other.priority is not None and pod.priority > other.priority


def _choose(shortage: Shortage, able: list[Demand]) -> list[Demand]:
    """Raises NoVictims."""
    left = without(shortage, able)
    if left:
        raise NoVictims(left)
    classes = {qos: [one for one in able if one.qos == qos] for qos in ("Guaranteed", "Burstable", "BestEffort")}
    guaranteed = _nearest(without(shortage, [*classes["BestEffort"], *classes["Burstable"]]), classes["Guaranteed"])
    burstable = _nearest(without(shortage, [*classes["BestEffort"], *guaranteed]), classes["Burstable"])
    best_effort = _nearest(without(shortage, [*burstable, *guaranteed]), classes["BestEffort"])
    return _drop_unneeded(shortage, [*guaranteed, *burstable, *best_effort])


def _nearest(shortage: Shortage, pods: list[Demand]) -> list[Demand]:
    """Choose pods one by one until all requirements are met. All of them together meet them."""
    found, left, shortage = list[Demand](), list(pods), dict(shortage)
    while shortage:
        best = min(left, key=lambda pod: (_distance(shortage, pod), _gives(pod, "memory"), _gives(pod, "cpu")))
        left.remove(best)
        found.append(best)
        shortage = without(shortage, [best])
    return found


def _distance(shortage: Shortage, pod: Demand) -> float:
    return sum((max(0, amount - _gives(pod, name)) / amount) ** 2 for name, amount in shortage.items())


def _drop_unneeded(shortage: Shortage, chosen: list[Demand]) -> list[Demand]:
    """The candidates without those that are not needed; the most valuable are spared first."""
    for pod in list(chosen):
        others = [one for one in chosen if one is not pod]
        if not without(shortage, others):
            chosen = others
    return chosen


def _gives(pod: Demand, resource: str) -> int:
    return 1 if resource == "pods" else pod.requests.get(resource, 0)
