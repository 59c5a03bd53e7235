"""The API status of a pod from one observation, and what was reported before: pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec

from actors.shared.cri.model import Container as Runtime
from actors.shared.cri.model import ContainerState as RuntimeState
from actors.shared.cri.model import PodRuntime
from actors.shared.kube.container import Container
from actors.shared.kube.names import CONFIG_SEEN
from actors.shared.kube.node_addresses import one_of_each_family
from actors.shared.kube.pod import ContainerStatus, Pod, PodCondition, PodIP, PodStatus
from actors.shared.kube.pods import is_sidecar, is_static, qos_class
from actors.shared.kube.restart_policy import RESTART_ALL, RESTARTING_ALL, can_restart_all, may_restart, rule_for

from . import resize_conditions
from .conditions import OWNED, Facts, conditions, with_times
from .container_status import Readiness, View, statuses
from .lost_containers import failed, with_lost_ends
from .messages import PodObserved
from .phase import TERMINAL, pod_phase
from .times import rfc3339

ENDED: Final = ("terminated", "rejected")
DISRUPTION: Final = "DisruptionTarget"
DISRUPTIONS: Final = ("Evicted", "Preempting", "Terminated")
"""Reasons for which the node ends a pod that others would replace: eviction, preemption, shutdown of the node."""


class Node(msgspec.Struct, frozen=True):
    """What a status says of the node."""

    ips: list[str]
    """At most one of each family, the node's first."""
    runtime_name: str = "containerd"


class Observation(msgspec.Struct, frozen=True):
    """All that a status is computed from."""

    seen: PodObserved
    pod: Pod
    readiness: Callable[[Container, Runtime], Readiness]
    now_ns: int
    """Nanoseconds since 1970."""


def compute(observation: Observation, node: Node, before: PodStatus | None) -> PodStatus:
    """The status of now. `before` is what was reported last of this pod, if anything."""
    pod, seen = observation.pod, observation.seen
    old = before or PodStatus()
    if seen.worker_phase not in ENDED and (old.phase in TERMINAL or (seen.runtime is None and old.containerStatuses)):
        return old  # final; or its worker has only begun, and nobody has looked at the runtime yet
    initialized = _initialized(pod, seen.runtime)
    known = {s.name: s for s in (*old.initContainerStatuses, *old.containerStatuses, *old.ephemeralContainerStatuses)}
    view = View(
        pod, seen.runtime, seen.waiting, seen.worker_phase in ENDED, initialized, node.runtime_name,
        observation.readiness, seen.actual_resources,
    )  # fmt: skip
    rejected = _never_began(seen, old)
    init = [] if rejected else statuses(view, pod.spec.initContainers, known, init=True)
    regular = [] if rejected else statuses(view, pod.spec.containers, known, init=False)
    ephemeral = statuses(view, pod.spec.ephemeralContainers, known, init=False)
    if view.ended:
        init, regular = with_lost_ends(pod, init, regular)
        ephemeral = [failed(status) for status in ephemeral if status.containerID]
    by_name = {status.name: status for status in (*init, *regular)}
    if _came_back(pod, known, by_name):
        return old
    phase = _phase(observation, by_name, old, initialized)
    if phase in TERMINAL:
        by_name = {name: _never_ready(status) for name, status in by_name.items()}
    facts = Facts(pod, by_name, phase, seen.sandbox_ready, initialized, restarting_all(seen, pod))
    start = old.startTime or pod.status.startTime or _start_time(pod, observation.now_ns)
    owned = [] if rejected else conditions(facts)
    if phase not in TERMINAL:
        owned += resize_conditions.conditions(seen.resize)
    times = {name: _since(name, observation, before, start) for name in (*OWNED, *resize_conditions.CONDITIONS)}
    timed = with_times(owned, old.conditions, times, pod.metadata.generation)
    ips = _ips(observation, node, old)
    reason, message = _why(seen, phase, old)
    return PodStatus(
        observedGeneration=max(pod.metadata.generation, old.observedGeneration),
        phase=phase,
        conditions=[*_foreign(observation, phase, old), *timed],
        reason=reason,
        message=message,
        hostIP=node.ips[0] if node.ips else "",
        hostIPs=[PodIP(ip=ip) for ip in node.ips],
        podIP=ips[0] if ips else "",
        podIPs=[PodIP(ip=ip) for ip in ips],
        startTime=start,
        initContainerStatuses=[by_name[status.name] for status in init],
        containerStatuses=[by_name[status.name] for status in regular],
        ephemeralContainerStatuses=ephemeral,
        allocatedResources=pod.spec.resources.requests if pod.spec.resources is not None else {},
        resources=pod.spec.resources,
        qosClass=qos_class(pod),
        resourceClaimStatuses=pod.status.resourceClaimStatuses,
        extendedResourceClaimStatus=pod.status.extendedResourceClaimStatus,
    )


def restarting_all(seen: PodObserved, pod: Pod) -> bool:
    """Whether all containers are being restarted: the worker says so, or a container has ended with an exit that asks
    for it, and does not wait for its backoff."""
    if seen.worker_phase != "running":
        return False
    if any(waiting.reason == RESTARTING_ALL for waiting in seen.waiting.values()):
        return True
    containers = (*pod.spec.initContainers, *pod.spec.containers)
    return any(
        ran is not None
        and ran.state is RuntimeState.EXITED
        and rule_for(container, ran.exit_code) == RESTART_ALL
        and container.name not in seen.waiting
        for container in containers
        for ran in [seen.runtime.newest(container.name) if seen.runtime is not None else None]
    )


def _never_began(seen: PodObserved, old: PodStatus) -> bool:
    """It was refused, so no container of it ever was; also when that was before this agent began."""
    nothing = seen.runtime is None or not seen.runtime.containers
    return nothing and (seen.worker_phase == "rejected" or (old.phase in TERMINAL and not old.containerStatuses))


def _why(seen: PodObserved, phase: str, old: PodStatus) -> tuple[str, str]:
    """Reason and message; those of an end come with the terminal phase, which waits for the containers."""
    kept = (old.reason, old.message) if phase == old.phase else ("", "")
    if seen.worker_phase == "terminating":
        return kept
    return seen.reason or kept[0], seen.message or kept[1]


def _ips(observation: Observation, node: Node, old: PodStatus) -> list[str]:
    """A pod that ends keeps the addresses that it had."""
    if observation.pod.spec.hostNetwork:
        return node.ips
    found = pod_ips(observation.seen.runtime, node.ips)
    ending = observation.seen.worker_phase in ("terminating", *ENDED)
    return found or ([each.ip for each in old.podIPs] if ending else [])


def _foreign(observation: Observation, phase: str, old: PodStatus) -> list[PodCondition]:
    """The conditions of others, as the API server has them; and, with the end of a pod that the node has ended for
    reasons of its own, DisruptionTarget (KEP-3329)."""
    seen, given = observation.seen, observation.pod.status.conditions
    others = [condition for condition in given if condition.type not in (*OWNED, *resize_conditions.CONDITIONS)]
    if phase != "Failed" or seen.worker_phase == "rejected" or seen.reason not in DISRUPTIONS:
        return others
    before = (each for each in (*others, *old.conditions) if each.type == DISRUPTION and each.status == "True")
    disrupted = next(before, None) or PodCondition(
        type=DISRUPTION, status="True", reason="TerminationByKubelet", message=seen.message,
        lastTransitionTime=rfc3339(observation.now_ns), observedGeneration=observation.pod.metadata.generation,
    )  # fmt: skip
    return [*(each for each in others if each.type != DISRUPTION), disrupted]


def _phase(observation: Observation, by_name: dict[str, ContainerStatus], old: PodStatus, initialized: bool) -> str:
    """A terminal phase is final, and is not reported while anything may still run."""
    seen = observation.seen
    if old.phase in TERMINAL:
        return old.phase
    if seen.worker_phase == "rejected" or (seen.worker_phase == "terminated" and seen.reason):
        return "Failed"
    ended = seen.worker_phase in ENDED
    phase = pod_phase(observation.pod, by_name, ended=ended, initialized=initialized)
    if phase in TERMINAL and not ended:
        return old.phase or "Running"
    if ended and phase not in TERMINAL:
        # a static pod that no file has any more: it goes as it was
        return (old.phase or phase) if is_static(observation.pod) else "Failed"
    return phase


def _came_back(pod: Pod, before: dict[str, ContainerStatus], now: dict[str, ContainerStatus]) -> bool:
    """A container that ended for good cannot run again: such an observation is not believed. Where all containers may
    be restarted, none ends for good."""
    if can_restart_all(pod):
        return False
    for container in (*pod.spec.initContainers, *pod.spec.containers):
        old, new = before.get(container.name), now.get(container.name)
        ended = old.state.terminated if old is not None else None
        if ended is None or new is None or new.state.terminated is not None or is_sidecar(container):
            continue
        init = container not in pod.spec.containers
        if not may_restart(pod, container, ended.exitCode, init=init) and (not init or ended.exitCode != 0):
            return True
    return False


def _never_ready(status: ContainerStatus) -> ContainerStatus:
    """Of a pod that is over: only an init container that completed stays ready."""
    return status if status.state.terminated is not None else msgspec.structs.replace(status, ready=False)


def _initialized(pod: Pod, runtime: PodRuntime | None) -> bool:
    """Whether any regular container has ever been started."""
    regular = {container.name for container in pod.spec.containers}
    return any(
        each.name in regular and each.state in (RuntimeState.RUNNING, RuntimeState.EXITED)
        for each in (runtime.containers if runtime else ())
    )


def _start_time(pod: Pod, now_ns: int) -> str | None:
    """When the node first saw it, so that a restart of the agent does not change it."""
    seen = pod.metadata.annotations.get(CONFIG_SEEN, "")
    if len(seen) >= 20 and seen.endswith("Z"):
        return f"{seen[:19]}Z"
    return rfc3339(now_ns)


def _since(name: str, observation: Observation, before: PodStatus | None, start: str | None) -> str | None:
    """When a condition became what it is: now, or when this is the first look, as far as the runtime can tell."""
    if before is not None:
        return rfc3339(observation.now_ns)
    runtime = observation.seen.runtime
    if name == "PodScheduled" or runtime is None:
        return start
    if name == "PodReadyToStartContainers":
        times = [sandbox.created_ns for sandbox in runtime.sandboxes[:1]]
    else:
        times = [max(each.started_ns, each.finished_ns) for each in runtime.containers]
    return rfc3339(max(times, default=0)) or start


def pod_ips(runtime: PodRuntime | None, node_ips: list[str]) -> list[str]:
    """Of the newest sandbox: one of each family, the family of the node's first address first."""
    ips = runtime.sandboxes[0].ips if runtime is not None and runtime.sandboxes else []
    return one_of_each_family(ips, six_first=bool(node_ips) and ":" in node_ips[0])
