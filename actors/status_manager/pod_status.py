"""The API status of a pod, from one observation and the status before. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from actors.shared.cri.model import CriContainer, CriContainerState, PodRuntime
from actors.shared.kube.container import Container
from actors.shared.kube.node_addresses import pod_ips_of_sandbox
from actors.shared.kube.pod import ContainerStatus, Pod, PodIP, PodStatus
from actors.shared.kube.pods import is_sidecar, is_static, qos_class
from actors.shared.kube.restart_policy import RESTART_ALL, RESTARTING_ALL, can_restart_all, may_restart, rule_for
from actors.shared.kube.times import start_time

from .claim_health import Claims, Devices
from .conditions import ConditionInput
from .container_status import statuses
from .container_status_input import ContainerStatusInput, Readiness
from .lost_containers import failed, never_began, with_lost_ends
from .messages import PodObserved
from .phase import TERMINAL, pod_phase
from .pod_conditions import TransitionInput, pod_conditions
from .pod_resources import allocated, applied
from .times import rfc3339

ENDED: Final = ("terminated", "rejected")
_BY_ORDER: Final = ("terminating", "terminated")
SHUTDOWN: Final = "Terminated"
"""The reason of a pod that a shutdown of the node ended: a job that was cut short has not succeeded."""
DEADLINE_EXCEEDED: Final = "DeadlineExceeded"
"""The reason of a pod that was active for longer than activeDeadlineSeconds."""


class PodStatusNode(msgspec.Struct, frozen=True):
    """The facts of the node that a status repeats."""

    ips: list[str]
    """At most one of each family; the node's first family first."""
    runtime_name: str = "containerd"
    given: str = ""
    """--node-ip."""
    stop_signals: bool = False
    """The gate ContainerStopSignals."""
    pod_resources: bool = True
    """The gate InPlacePodLevelResourcesVerticalScaling."""
    ready_to_start: bool = True
    """The gate PodReadyToStartContainersCondition."""


class PodStatusInput(msgspec.Struct, frozen=True):
    """The input of a status."""

    seen: PodObserved
    pod: Pod
    readiness: Callable[[Container, CriContainer], Readiness]
    now_ns: int
    """Nanoseconds since 1970."""
    claims: Claims | None = None
    """The devices of its resource claims; None: not known."""
    devices: Mapping[str, Devices] | None = None
    """The devices of plugins by container; None: not known."""


def compute(observation: PodStatusInput, node: PodStatusNode, before: PodStatus | None) -> PodStatus:
    """`before`: the last status of this pod, if there is one."""
    pod, seen = observation.pod, observation.seen
    old = before or PodStatus()
    if seen.worker_phase not in ENDED and (old.phase in TERMINAL or (seen.runtime is None and old.containerStatuses)):
        return old  # final, or its worker has just begun and has not asked the runtime yet
    initialized = _is_initialized(pod, seen.runtime)
    rejected = _never_began(seen, old)
    found = _containers(observation, node, old, initialized=initialized, rejected=rejected)
    outlook = _expected_phase(observation, found.by_name(), old, initialized)
    containers = _with_lost_ends(pod, found, old) if seen.worker_phase in ENDED else found
    by_name = containers.by_name()
    if _came_back(pod, _by_name(old), by_name):
        return old
    phase = _phase(observation, outlook, old)
    if phase in TERMINAL:
        by_name = {name: _never_ready(status) for name, status in by_name.items()}
    start = old.startTime or start_time(pod) or rfc3339(observation.now_ns)
    facts = ConditionInput(
        pod, by_name, outlook, seen.sandbox_ready, initialized or _was_initialized(old), restarting_all(seen, pod),
        node.ready_to_start,
    )  # fmt: skip
    situation = TransitionInput(seen, observation.now_ns, before, start, rejected, phase)
    host_ips, ips = _host_ips(node, old, rejected=rejected), _ips(observation, node, old, rejected=rejected)
    reason, message = _reason_and_message(seen, phase, old)
    whole = (allocated(pod), applied(pod, phase)) if node.pod_resources else ({}, None)
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
    init, regular = with_lost_ends(pod, found.init, found.regular, old if old.phase in TERMINAL else None)
    return _Containers(init, regular, [failed(status) for status in found.ephemeral if status.containerID])


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
        ran, waiting = runtime.newest(container.name), seen.waiting.get(container.name)
        delayed = waiting is not None and waiting.reason != RESTARTING_ALL
        ended = ran is not None and ran.state is CriContainerState.EXITED
        if ran is not None and ended and not delayed and rule_for(container, ran.exit_code) == RESTART_ALL:
            return True
    return False


def _never_began(seen: PodObserved, old: PodStatus) -> bool:
    """Whether the pod was rejected, by this incarnation or an earlier one: it never had a container."""
    nothing = seen.runtime is None or not seen.runtime.containers
    return nothing and (seen.worker_phase == "rejected" or (old.phase in TERMINAL and not old.containerStatuses))


def _reason_and_message(seen: PodObserved, phase: str, old: PodStatus) -> tuple[str, str]:
    """Reason and message. Those of a termination appear with the terminal phase, which waits for the containers. A pod
    that succeeded nevertheless has none, as in the kubelet.
    """
    kept = (old.reason, old.message) if phase == old.phase else ("", "")
    if seen.worker_phase == "terminating" or phase == "Succeeded":
        return kept
    return seen.reason or kept[0], seen.message or kept[1]


def _host_ips(node: PodStatusNode, old: PodStatus, *, rejected: bool) -> list[str]:
    """The status of a rejected pod: phase, reason, message and start time, no address."""
    return [each.ip for each in old.hostIPs] if rejected else node.ips


def _ips(observation: PodStatusInput, node: PodStatusNode, old: PodStatus, *, rejected: bool) -> list[str]:
    """The pod's addresses. A pod that has ended keeps them."""
    if rejected:
        return [each.ip for each in old.podIPs]
    if observation.pod.spec.hostNetwork:
        return node.ips
    found = pod_ips(observation.seen.runtime, node.given)
    ending = observation.seen.worker_phase in ("terminating", *ENDED)
    return found or ([each.ip for each in old.podIPs] if ending else [])


def _expected_phase(
    observation: PodStatusInput, by_name: dict[str, ContainerStatus], old: PodStatus, initialized: bool
) -> str:
    """The phase for the conditions. It is terminal as soon as it is certain that the pod will end so;
    never for a pod that was deleted before all of its containers had started.
    """
    seen = observation.seen
    if seen.worker_phase == "rejected" or (seen.worker_phase in _BY_ORDER and seen.reason == DEADLINE_EXCEEDED):
        phase = "Failed"
    else:
        spec = observation.pod.spec
        in_turn = [*(each for each in spec.initContainers if not is_sidecar(each)), *spec.containers]
        waits = any(never_began(by_name.get(each.name)) for each in in_turn)
        over = seen.worker_phase in ENDED
        phase = "Pending" if waits else pod_phase(observation.pod, by_name, ended=over, initialized=initialized)
        # as in the kubelet, a preempted or evicted pod whose containers all exit with 0 has succeeded
        if seen.worker_phase == "terminated" and seen.reason and (phase != "Succeeded" or seen.reason == SHUTDOWN):
            phase = "Failed"
        # a pod whose sandbox is lost before its containers started, and that is not restarted, has failed
        deleted = observation.pod.metadata.deletionTimestamp is not None
        if over and phase not in TERMINAL and not deleted and not is_static(observation.pod):
            phase = "Failed"
    return old.phase if phase in TERMINAL and old.phase in TERMINAL else phase


def _phase(observation: PodStatusInput, outlook: str, old: PodStatus) -> str:
    """A terminal phase is final, and is not reported while a container may still run."""
    if old.phase in TERMINAL:
        return old.phase
    ended = observation.seen.worker_phase in ENDED
    if outlook in TERMINAL:
        return outlook if ended else old.phase or "Running"
    if ended:
        # a static pod whose file is gone keeps its last phase
        return (old.phase or outlook) if is_static(observation.pod) else "Failed"
    return outlook


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


def _was_initialized(old: PodStatus) -> bool:
    """Whether the condition Initialized was True: it stays True, also while all containers are created again."""
    return any(each.type == "Initialized" and each.status == "True" for each in old.conditions)


def pod_ips(runtime: PodRuntime | None, given: str) -> list[str]:
    """The addresses of the newest sandbox; `given` is --node-ip."""
    ips = runtime.sandboxes[0].ips if runtime is not None and runtime.sandboxes else []
    return pod_ips_of_sandbox(ips, given)
