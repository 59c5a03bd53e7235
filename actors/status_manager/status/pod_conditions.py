"""All conditions of a pod: the node's own, with their times, and the ones of other owners from the API server.

Pure.
"""

from __future__ import annotations

from typing import Final

import msgspec

from actors.shared.kube.pod import PodCondition, PodStatus
from actors.shared.kube.pods import TERMINAL_PHASES

from ..messages import PodObserved
from ..times import time_of_ns
from . import resize_conditions
from .conditions import OWNED, ConditionInput, conditions, with_times

DISRUPTION: Final = "DisruptionTarget"
"""The condition of a pod that the node terminates for reasons of the node, in the place of that of another client that
has deleted the pod before; a controller replaces it (KEP-3329)."""
BY_KUBELET: Final = "TerminationByKubelet"


class TransitionInput(msgspec.Struct, frozen=True):
    """The input of the conditions' times."""

    seen: PodObserved
    now_ns: int
    """Nanoseconds since 1970."""
    before: PodStatus | None
    """The last status of the pod."""
    start: str | None
    """Its startTime."""
    rejected: bool
    """The pod never had a container, so it has none of the node's conditions."""
    phase: str
    """The phase that is reported, not terminal while a container may still run."""


def pod_conditions(facts: ConditionInput, situation: TransitionInput) -> list[PodCondition]:
    """The pod's conditions in the order of the status."""
    owned = [] if situation.rejected else conditions(facts)
    if situation.phase not in TERMINAL_PHASES:
        owned += resize_conditions.conditions(situation.seen.resize)
    old = situation.before.conditions if situation.before is not None else []
    times = {name: _transition_time(name, situation) for name in (*OWNED, *resize_conditions.CONDITIONS)}
    return [*_foreign(facts, situation), *with_times(owned, old, times, facts.pod.metadata.generation)]


def _foreign(facts: ConditionInput, situation: TransitionInput) -> list[PodCondition]:
    """The conditions of other owners, as the API server has them, and DisruptionTarget for an ended pod that the node
    terminated.
    """
    seen, given = situation.seen, facts.pod.status.conditions
    others = [condition for condition in given if condition.type not in (*facts.owned, *resize_conditions.CONDITIONS)]
    if situation.phase not in TERMINAL_PHASES or seen.worker_phase == "rejected" or not seen.disruption:
        return others
    old = situation.before.conditions if situation.before is not None else []
    known = [each for each in (*others, *old) if each.type == DISRUPTION and each.status == "True"]
    disrupted = next((each for each in known if each.reason == BY_KUBELET), None) or PodCondition(
        type=DISRUPTION, status="True", reason=BY_KUBELET, message=seen.disruption,
        lastTransitionTime=known[0].lastTransitionTime if known else time_of_ns(situation.now_ns),
        observedGeneration=facts.pod.metadata.generation,
    )  # fmt: skip
    return [*(each for each in others if each.type != DISRUPTION), disrupted]


def _transition_time(name: str, situation: TransitionInput) -> str | None:
    """When a condition got its value: now; for the first status of a pod, the time that the runtime reports."""
    if situation.before is not None:
        return time_of_ns(situation.now_ns)
    runtime = situation.seen.runtime
    if name == "PodScheduled" or runtime is None:
        return situation.start
    if name == "PodReadyToStartContainers":
        times = [sandbox.created_ns for sandbox in runtime.sandboxes[:1]]
    else:
        times = [max(each.started_ns, each.finished_ns) for each in runtime.containers]
    return time_of_ns(max(times, default=0)) or situation.start
