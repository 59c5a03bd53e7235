"""The pod conditions that the node owns (API reference, PodCondition), and the times of their changes. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from actors.shared.kube.container import Container
from actors.shared.kube.pod import ContainerStatus, Pod, PodCondition
from actors.shared.kube.pods import is_sidecar, sidecars
from actors.shared.kube.restart_policy import can_restart_all

from .resize_conditions import has_changed, with_probe_time

ALL_RESTARTING: Final = "AllContainersRestarting"
OWNED: Final = (
    "PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled", ALL_RESTARTING,
)  # fmt: skip


class ConditionInput(msgspec.Struct, frozen=True):
    """The input of the conditions."""

    pod: Pod
    statuses: Mapping[str, ContainerStatus]
    """By container name."""
    phase: str
    """Terminal as soon as it is certain, even if a container still runs."""
    sandbox_ready: bool
    initialized: bool
    """A regular container has run, or the pod was initialized before."""
    restarting_all: bool = False
    """All containers are being restarted (KEP-5532)."""
    ready_to_start: bool = True
    """The gate PodReadyToStartContainersCondition."""

    @property
    def owned(self) -> tuple[str, ...]:
        """The types of the conditions that the node owns."""
        return OWNED if self.ready_to_start else OWNED[1:]


def conditions(facts: ConditionInput) -> list[PodCondition]:
    """All conditions that the node owns, without times, in the kubelet's order."""
    ready = containers_ready(facts)
    found = [
        *([_condition("PodReadyToStartContainers", facts.sandbox_ready)] if facts.ready_to_start else []),
        initialized(facts),
        _ready(facts, ready),
        ready,
        _condition("PodScheduled", True),
    ]
    return [*found, _all_restarting(facts)] if can_restart_all(facts.pod) else found


def _all_restarting(facts: ConditionInput) -> PodCondition:
    """AllContainersRestarting (KEP-5532), of a pod with a rule that restarts all containers."""
    over = {"Succeeded": "PodCompleted", "Failed": "PodFailed"}.get(facts.phase, "")
    if facts.restarting_all and not over:
        text = "container exited with restart policy rule"
        return _condition(ALL_RESTARTING, True, "RestartAllContainersStarted", text)
    return _condition(ALL_RESTARTING, False, over)


def containers_ready(facts: ConditionInput) -> PodCondition:
    unknown, unready = _not_ready(facts, [*sidecars(facts.pod), *facts.pod.spec.containers])
    if facts.phase == "Succeeded" and not unknown:
        return _condition("ContainersReady", False, "PodCompleted")
    if facts.phase == "Failed":
        return _condition("ContainersReady", False, "PodFailed")
    messages = _messages(("unknown", unknown), ("unready", unready))
    if messages:
        return _condition("ContainersReady", False, "ContainersNotReady", messages)
    return _condition("ContainersReady", True)


def _not_ready(facts: ConditionInput, containers: Iterable[Container]) -> tuple[list[str], list[str]]:
    """Names of containers without a status, and of those that are not ready."""
    unknown, unready = [], []
    for container in containers:
        status = facts.statuses.get(container.name)
        if status is None:
            unknown.append(container.name)
        elif not status.ready:
            unready.append(container.name)
    return unknown, unready


def _ready(facts: ConditionInput, containers: PodCondition) -> PodCondition:
    """Ready: the containers are ready, and every readiness gate is True (KEP-580)."""
    if containers.status != "True":
        return msgspec.structs.replace(containers, type="Ready")
    given = {condition.type: condition.status for condition in facts.pod.status.conditions}
    missing = []
    for gate in facts.pod.spec.readinessGates:
        status = given.get(gate.conditionType)
        if status is None:
            missing.append(f'corresponding condition of pod readiness gate "{gate.conditionType}" does not exist.')
        elif status != "True":
            missing.append(f'the status of pod readiness gate "{gate.conditionType}" is not "True", but {status}')
    if missing:
        return _condition("Ready", False, "ReadinessGatesNotReady", ", ".join(missing))
    return _condition("Ready", True)


def initialized(facts: ConditionInput) -> PodCondition:
    unknown, incomplete = [], []
    for container in facts.pod.spec.initContainers:
        status = facts.statuses.get(container.name)
        if status is None:
            unknown.append(container.name)
        elif not (status.started if is_sidecar(container) else status.ready):
            incomplete.append(container.name)
    if facts.phase == "Succeeded" and not unknown:
        return _condition("Initialized", True, "PodCompleted")
    if facts.initialized:
        return _condition("Initialized", True)
    messages = _messages(("unknown", unknown), ("incomplete", incomplete))
    if messages:
        return _condition("Initialized", False, "ContainersNotInitialized", messages)
    return _condition("Initialized", True)


def _messages(*groups: tuple[str, list[str]]) -> str:
    """The kubelet's messages: names as Go prints a list."""
    return ", ".join(f"containers with {what} status: [{' '.join(names)}]" for what, names in groups if names)


def _condition(kind: str, holds: bool, reason: str = "", message: str = "") -> PodCondition:
    return PodCondition(type=kind, status="True" if holds else "False", reason=reason, message=message)


def with_times(
    now: list[PodCondition], before: Iterable[PodCondition], since: Mapping[str, str | None], generation: int
) -> list[PodCondition]:
    """The conditions with their lastTransitionTime: that of `before` for an unchanged condition, else that of `since`.
    A condition without an observedGeneration gets `generation`."""
    known = {condition.type: condition for condition in before}
    timed = []
    for condition in now:
        old = known.get(condition.type)
        changed = old is None or has_changed(condition, old)
        when = since.get(condition.type) if changed or old is None else old.lastTransitionTime
        seen = condition.observedGeneration or max(generation, old.observedGeneration if old is not None else 0)
        timed.append(msgspec.structs.replace(condition, lastTransitionTime=when, observedGeneration=seen))
    return [with_probe_time(each, known.get(each.type), since.get(each.type)) for each in timed]
