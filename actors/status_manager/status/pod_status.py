"""The API status of a pod, from one observation and the status before. Pure."""

from __future__ import annotations

import msgspec

from actors.shared.cri.model import CriContainerState, PodRuntime
from actors.shared.kube.pod import ContainerStatus, Pod, PodIP, PodStatus
from actors.shared.kube.pods import TERMINAL_PHASES, qos_class
from actors.shared.kube.restart_policy import RESTART_ALL, RESTARTING_ALL, can_restart_all, may_restart, rule_for

from ..containers.container_status import statuses
from ..containers.container_status_input import ContainerStatusInput
from ..containers.lost_containers import failed, with_lost_ends
from ..messages import PodObserved
from ..times import time_of_ns
from .conditions import ConditionInput
from .expected_phase import expected_phase, reported_phase
from .pod_addresses import host_ips_of, ips_of
from .pod_conditions import TransitionInput, pod_conditions
from .pod_resources import allocated, applied
from .pod_status_input import ENDED, PodStatusInput, PodStatusNode


def compute(observation: PodStatusInput, node: PodStatusNode, before: PodStatus | None) -> PodStatus:
    """`before`: the last status of this pod, if there is one."""
    pod, seen = observation.pod, observation.seen
    old = before or PodStatus()
    if seen.worker_phase not in ENDED and (
        old.phase in TERMINAL_PHASES or (seen.runtime is None and old.containerStatuses)
    ):
        return old  # final, or its worker has just started and has not read the runtime yet
    initialized = _is_initialized(pod, seen.runtime)
    rejected = _never_started(seen, old)
    found = _containers(observation, node, old, initialized=initialized, rejected=rejected)
    started = _has_started(pod, seen.runtime) if seen.worker_phase == "running" else initialized
    expected = expected_phase(observation, found.by_name(), old, started)
    containers = _with_lost_ends(pod, found, old) if seen.worker_phase in ENDED else found
    by_name = containers.by_name()
    if _came_back(pod, _by_name(old), by_name):
        return old
    phase = reported_phase(observation, expected, old)
    if phase in TERMINAL_PHASES:
        by_name = {name: _never_ready(status) for name, status in by_name.items()}
    start = _start_time(observation, old)
    facts = ConditionInput(
        pod, by_name, expected, seen.sandbox_ready, initialized or _was_initialized(old), restarting_all(seen, pod),
        node.ready_to_start,
    )  # fmt: skip
    situation = TransitionInput(seen, observation.now_ns, before, start, rejected, phase)
    host_ips, ips = host_ips_of(node, old, rejected=rejected), ips_of(observation, node, old, rejected=rejected)
    reason, message = _reason_and_message(seen, phase, old)
    whole = (allocated(pod), applied(pod, phase, seen.actual_resources)) if node.pod_resources else ({}, None)
    if rejected:
        whole = old.allocatedResources, old.resources
    return PodStatus(
        observedGeneration=max(pod.metadata.generation, old.observedGeneration),
        phase=phase,
        conditions=pod_conditions(facts, situation),
        reason=reason,
        message=message,
        hostIP=host_ips[0] if host_ips else "",
        hostIPs=[PodIP(ip=ip) for ip in host_ips],
        podIP=ips[0] if ips else "",
        podIPs=[PodIP(ip=ip) for ip in ips],
        startTime=start,
        initContainerStatuses=[by_name[status.name] for status in containers.init],
        containerStatuses=[by_name[status.name] for status in containers.regular],
        ephemeralContainerStatuses=containers.ephemeral,
        allocatedResources=whole[0],
        resources=whole[1],
        qosClass=qos_class(pod),
        resourceClaimStatuses=pod.status.resourceClaimStatuses,
        extendedResourceClaimStatus=pod.status.extendedResourceClaimStatus,
    )


def _start_time(observation: PodStatusInput, old: PodStatus) -> str | None:
    """When this node took the pod over: at its first status, or when its oldest sandbox was created, which outlasts a
    restart of the agent. The runtime may not be known yet at the first status. The manifest of a static pod may be much
    older."""
    in_api, runtime = observation.pod.status.startTime, observation.seen.runtime
    if in_api:
        return old.startTime or in_api
    sandboxes = runtime.sandboxes if runtime is not None else ()
    first = time_of_ns(min([observation.now_ns, *(one.created_ns for one in sandboxes if one.created_ns)]))
    return min(filter(None, (old.startTime, first)), default=None)


class _Containers(msgspec.Struct, frozen=True):
    init: list[ContainerStatus]
    regular: list[ContainerStatus]
    ephemeral: list[ContainerStatus]

    def by_name(self) -> dict[str, ContainerStatus]:
        """The statuses of init and regular containers."""
        return {status.name: status for status in (*self.init, *self.regular)}


def _containers(
    observation: PodStatusInput, node: PodStatusNode, old: PodStatus, *, initialized: bool, rejected: bool
) -> _Containers:
    """The statuses of the containers, as far as the runtime knows them."""
    pod, seen, known = observation.pod, observation.seen, _by_name(old)
    view = ContainerStatusInput(
        pod, seen.runtime, seen.waiting, seen.worker_phase in ENDED, initialized, node.runtime_name,
        observation.readiness, seen.actual_resources, observation.claims, observation.devices,
        node.stop_signals,
    )  # fmt: skip
    init = [] if rejected else statuses(view, pod.spec.initContainers, known, init=True)
    regular = [] if rejected else statuses(view, pod.spec.containers, known, init=False)
    ephemeral = [unprobed(status) for status in statuses(view, pod.spec.ephemeralContainers, known, init=False)]
    return _Containers(init, regular, ephemeral)


def _with_lost_ends(pod: Pod, found: _Containers, old: PodStatus) -> _Containers:
    """The containers of a finished pod: each is shown as ended, also those whose end was not observed."""
    init, regular = with_lost_ends(pod, found.init, found.regular, old if old.phase in TERMINAL_PHASES else None)
    return _Containers(init, regular, [failed(one) if one.containerID else one for one in found.ephemeral])


def unprobed(status: ContainerStatus) -> ContainerStatus:
    """The status of an ephemeral container. It has no probes, so it is neither started nor ready."""
    return msgspec.structs.replace(status, ready=False, started=None)


def _by_name(status: PodStatus) -> dict[str, ContainerStatus]:
    lists = (status.initContainerStatuses, status.containerStatuses, status.ephemeralContainerStatuses)
    return {each.name: each for statuses_ in lists for each in statuses_}


def restarting_all(seen: PodObserved, pod: Pod) -> bool:
    """Whether the exit of a container restarts all containers without a backoff. That container is removed last; then
    the pod is ready to start again.
    """
    runtime = seen.runtime
    if seen.worker_phase != "running" or runtime is None:
        return False
    for container in (*pod.spec.initContainers, *pod.spec.containers):
        instance, waiting = runtime.newest(container.name), seen.waiting.get(container.name)
        delayed = waiting is not None and waiting.reason != RESTARTING_ALL
        ended = instance is not None and instance.state is CriContainerState.EXITED
        if instance is not None and ended and not delayed and rule_for(container, instance.exit_code) == RESTART_ALL:
            return True
    return False


def _never_started(seen: PodObserved, old: PodStatus) -> bool:
    """Whether the pod was rejected, by this incarnation or an earlier one: it never had a container."""
    nothing = seen.runtime is None or not seen.runtime.containers
    return nothing and (seen.worker_phase == "rejected" or (old.phase in TERMINAL_PHASES and not old.containerStatuses))


def _reason_and_message(seen: PodObserved, phase: str, old: PodStatus) -> tuple[str, str]:
    """Reason and message. Those of a termination appear with the terminal phase, which waits for the containers. A pod
    that succeeded nevertheless has none, as in the kubelet.
    """
    kept = (old.reason, old.message) if phase == old.phase else ("", "")
    if seen.worker_phase == "terminating" or phase == "Succeeded":
        return kept
    return seen.reason or kept[0], seen.message or kept[1]


def _came_back(pod: Pod, before: dict[str, ContainerStatus], now: dict[str, ContainerStatus]) -> bool:
    """Whether a finally ended container runs. Then the observation is wrong and is dropped. In a pod that can
    restart all its containers, no end of a container is final.
    """
    if can_restart_all(pod):
        return False
    for container in (*pod.spec.initContainers, *pod.spec.containers):
        old, new = before.get(container.name), now.get(container.name)
        ended = old.state.terminated if old is not None else None
        if ended is None or new is None or new.state.terminated is not None:
            continue
        init = container not in pod.spec.containers
        if not may_restart(pod, container, ended.exitCode, init=init) and (not init or ended.exitCode != 0):
            return True
    return False


def _never_ready(status: ContainerStatus) -> ContainerStatus:
    """The status of a container of a finished pod: only an init container that completed stays ready."""
    return status if status.state.terminated is not None else msgspec.structs.replace(status, ready=False)


def _is_initialized(pod: Pod, runtime: PodRuntime | None) -> bool:
    """Whether any regular container has ever been started."""
    regular = {container.name for container in pod.spec.containers}
    return any(
        each.name in regular and each.state in (CriContainerState.RUNNING, CriContainerState.EXITED)
        for each in (runtime.containers if runtime else ())
    )


def _has_started(pod: Pod, runtime: PodRuntime | None) -> bool:
    """Whether a regular container is in the sandbox that is in use: a new sandbox begins with the init containers."""
    regular = {container.name for container in pod.spec.containers}
    used = [sandbox.id for sandbox in (runtime.sandboxes[:1] if runtime else ()) if sandbox.ready]
    return any(each.name in regular and each.sandbox_id in used for each in (runtime.containers if runtime else ()))


def _was_initialized(old: PodStatus) -> bool:
    """Whether the condition Initialized was True: it stays True, also while all containers are created again."""
    return any(each.type == "Initialized" and each.status == "True" for each in old.conditions)
