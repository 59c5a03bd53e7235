"""The API status of each container, from the runtime, the reasons that the worker gives, and the probes.

A table of cases in `_state`; everything else is bookkeeping over time (counts that only grow, lost containers).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from actors.shared.cri.model import START_ERROR, CriContainer, CriContainerState, PodRuntime
from actors.shared.kube.container import Container, ResourceRequirements
from actors.shared.kube.pod import (
    ContainerState,
    ContainerStateRunning,
    ContainerStateTerminated,
    ContainerStateWaiting,
    ContainerStatus,
    ContainerUser,
    LinuxContainerUser,
    Pod,
    ResourceStatus,
    VolumeMountStatus,
)
from actors.shared.kube.pods import all_containers, is_sidecar
from actors.shared.kube.restart_policy import POST_START_ERROR, RESTARTING_ALL, init_exit_code, may_restart

from .claim_health import Claims, Devices, device_statuses, is_claim, resource_statuses
from .container_resources import container_resources
from .lost_containers import lost_end
from .messages import Waiting
from .times import rfc3339

MESSAGE_BYTES: Final = 12 << 10
"""The most bytes of all termination messages of one pod."""
CREATING: Final = "ContainerCreating"
INITIALIZING: Final = "PodInitializing"
DEFAULT_REASONS: Final = (CREATING, INITIALIZING)
"""Waiting reasons if nothing else is known; the second one is for a pod with init containers."""
NEVER_STARTED: Final = "1970-01-01T00:00:00Z"
"""The start time of a container that the runtime could not start: the kubelet shows the runtime's zero."""
FORGOTTEN: Final = (
    "Unable to get init container status from container runtime and pod has been initialized, treat it as exited "
    "normally"
)
"""The message for an init container that the runtime no longer has: the kubelet's words."""
_NOTHING: Final = ContainerState()


class Readiness(msgspec.Struct, frozen=True):
    """The results of the probes of a running container."""

    started: bool
    ready: bool


class ContainerStatusInput(msgspec.Struct, frozen=True):
    """The input of the container statuses of one pod."""

    pod: Pod
    runtime: PodRuntime | None
    waiting: Mapping[str, Waiting]
    ended: bool
    """No container runs, and none will start."""
    initialized: bool
    """A regular container has run, so an init container that the runtime no longer has is completed."""
    runtime_name: str
    readiness: Callable[[Container, CriContainer], Readiness]
    actual_resources: Mapping[str, ResourceRequirements] = {}
    """As PodObserved.actual_resources."""
    claims: Claims | None = None
    """The devices of the pod's resource claims; None: not known."""
    devices: Mapping[str, Devices] | None = None
    """The devices of plugins by container; None: not known."""
    stop_signals: bool = False
    """The gate ContainerStopSignals."""

    @property
    def deleting(self) -> bool:
        """No container that has ended is started again."""
        return self.pod.metadata.deletionTimestamp is not None


def statuses(
    view: ContainerStatusInput, containers: list[Container], before: Mapping[str, ContainerStatus], *, init: bool
) -> list[ContainerStatus]:
    """A status for each container: init containers in their order, others by name."""
    found = [_status(view, container, before.get(container.name), init=init) for container in containers]
    return found if init else sorted(found, key=lambda status: status.name)


def _status(
    view: ContainerStatusInput, container: Container, before: ContainerStatus | None, *, init: bool
) -> ContainerStatus:
    newest, previous = _two_newest(view.runtime, container.name)
    if newest is None and view.ended and before is not None and before.state.terminated is not None:
        return before  # the runtime has forgotten its end: keep the reported one
    state, last = _state(view, container, newest, init=init)
    if last == _NOTHING and previous is not None and previous.state is CriContainerState.EXITED:
        last = ContainerState(terminated=_terminated_state(view, previous))
    if last == _NOTHING and newest is not None and before is not None:
        last = _last_of(before, _id(view, newest))
    restarts = newest.restart_count if newest is not None else 0
    if before is not None:
        restarts = max(restarts, before.restartCount)
        state, last, lost = _lost_state(view, before, newest, state, last)
        restarts += lost
    state, last = _cut(view.pod, state), _cut(view.pod, last)
    probed = Readiness(False, False)
    if newest is not None and state.running is not None:
        probed = view.readiness(container, newest)
    done = init and not is_sidecar(container)
    ended = state.terminated
    completed = ended is not None and init_exit_code(ended.exitCode, ended.reason) == 0
    resources = container_resources(container, newest, view.actual_resources)
    return ContainerStatus(
        name=container.name,
        state=state,
        lastState=last,
        ready=completed if done else probed.ready,
        restartCount=restarts,
        image=(newest.resolved_image or newest.image if newest is not None else "") or container.image,
        imageID=(newest.image_ref or newest.image_id) if newest is not None else "",
        containerID=_id(view, newest) if newest is not None else "",
        started=probed.started,
        allocatedResources=container.resources.requests if newest is not None else {},
        resources=resources,
        volumeMounts=_mounts(container, newest.recursive_read_only if newest is not None else []),
        user=_user(newest),
        stopSignal=newest.stop_signal or None if newest is not None and view.stop_signals else None,
        allocatedResourcesStatus=[] if init else _devices(view, container, before),
    )


def _devices(view: ContainerStatusInput, container: Container, before: ContainerStatus | None) -> list[ResourceStatus]:
    """The health of the container's devices. Where claims or devices are not known, because an actor was restarted or
    the pod has ended and its devices are free, the last known health.
    """
    known = before.allocatedResourcesStatus if before is not None else []
    of_claims = [one for one in known if is_claim(one)]
    if view.claims is not None:
        of_claims = resource_statuses(view.pod, container, view.claims)
    of_plugins = [one for one in known if not is_claim(one)]
    if view.devices is not None and container.name in view.devices:
        of_plugins = device_statuses(view.devices[container.name])
    return [*of_plugins, *of_claims]


def _id(view: ContainerStatusInput, ran: CriContainer) -> str:
    return f"{view.runtime_name}://{ran.id}"


def _last_of(before: ContainerStatus, container_id: str) -> ContainerState:
    """The last state as it was reported, for a previous instance that the runtime no longer has. A restart of all
    containers and garbage collection remove instances.
    """
    if before.containerID != container_id and before.state.terminated is not None:
        return before.state
    last = before.lastState.terminated
    if last is not None and last.containerID == container_id:
        return _NOTHING  # the end of this instance, which was shown while it waited for its restart
    return before.lastState


def _two_newest(runtime: PodRuntime | None, name: str) -> tuple[CriContainer | None, CriContainer | None]:
    same = [each for each in (runtime.containers if runtime else ()) if each.name == name]
    return (same[0] if same else None), (same[1] if len(same) > 1 else None)


def _state(
    view: ContainerStatusInput, container: Container, newest: CriContainer | None, *, init: bool
) -> tuple[ContainerState, ContainerState]:
    """The state, and the last state if the same instance determines it."""
    waiting = view.waiting.get(container.name)
    if newest is not None and newest.state is CriContainerState.RUNNING:
        return ContainerState(running=ContainerStateRunning(startedAt=rfc3339(newest.started_ns))), _NOTHING
    if newest is not None and newest.start_given_up and not view.ended:
        return _waits(view, waiting), _NOTHING  # it is being created again: this end does not count
    if newest is not None and newest.state is CriContainerState.EXITED:
        ended = ContainerState(terminated=_terminated_state(view, newest))
        may_start = not (view.ended or view.deleting)
        waits = waiting is not None and may_start and _starts_again(view.pod, container, newest, waiting, init=init)
        return (_waits(view, waiting), ended) if waits else (ended, _NOTHING)
    if newest is None and init and view.initialized and not is_sidecar(container):
        completed = ContainerStateTerminated(exitCode=0, reason="Completed", message=FORGOTTEN)
        return ContainerState(terminated=completed), _NOTHING
    return _waits(view, waiting), _NOTHING


def _starts_again(pod: Pod, container: Container, ended: CriContainer, waiting: Waiting, *, init: bool) -> bool:
    """Whether an ended container waits for a restart. A container whose start or postStart hook failed, and whose
    policy does not restart it, does not wait. Any other may have been stopped for a restart, under any policy.
    """
    failed = ended.reason == START_ERROR or waiting.reason == POST_START_ERROR
    restarting = waiting.reason == RESTARTING_ALL or not failed
    return restarting or may_restart(pod, container, ended.exit_code, init=init)


def _waits(view: ContainerStatusInput, waiting: Waiting | None) -> ContainerState:
    if waiting is not None and waiting.reason not in ("", *DEFAULT_REASONS):
        return ContainerState(waiting=ContainerStateWaiting(reason=waiting.reason, message=waiting.message))
    reason = INITIALIZING if view.pod.spec.initContainers else CREATING
    return ContainerState(waiting=ContainerStateWaiting(reason=reason))


def _lost_state(
    view: ContainerStatusInput,
    before: ContainerStatus,
    newest: CriContainer | None,
    state: ContainerState,
    last: ContainerState,
) -> tuple[ContainerState, ContainerState, int]:
    """State, last state and restarts to add (0 or 1) of a container. One that ran and that the runtime no longer has is
    terminated with an unknown exit code.
    """
    gone = newest is None or newest.state is CriContainerState.UNKNOWN
    if not gone or state.terminated is not None:
        return state, last, 0
    if before.state.running is not None:
        text = "The container could not be located when the pod was deleted.  The container used to be Running"
        return state, lost_end(text), 0 if view.deleting or view.ended else 1
    if before.state.terminated is not None:
        return (before.state, before.lastState, 0) if view.ended else (state, before.state, 0)
    return state, before.lastState, 0


def _terminated_state(view: ContainerStatusInput, container: CriContainer) -> ContainerStateTerminated:
    return ContainerStateTerminated(
        exitCode=container.exit_code,
        reason=container.reason or ("Completed" if container.exit_code == 0 else "Error"),
        message=container.message,
        startedAt=rfc3339(container.started_ns) or NEVER_STARTED,
        finishedAt=rfc3339(container.finished_ns),
        containerID=_id(view, container),
    )


def _cut(pod: Pod, state: ContainerState) -> ContainerState:
    """The state with its message cut to its share of MESSAGE_BYTES."""
    if state.terminated is None:
        return state
    share = MESSAGE_BYTES // max(1, sum(1 for _ in all_containers(pod)))
    text = state.terminated.message.encode()
    if len(text) <= share:
        return state
    message = text[:share].decode(errors="ignore")
    return ContainerState(terminated=msgspec.structs.replace(state.terminated, message=message))


def _user(newest: CriContainer | None) -> ContainerUser | None:
    """The identity of the container's first process, if the runtime reports it (KEP-3619)."""
    if newest is None or newest.user is None:
        return None
    user = newest.user
    linux = LinuxContainerUser(uid=user.uid, gid=user.gid, supplementalGroups=user.supplemental_groups)
    return ContainerUser(linux=linux)


def _mounts(container: Container, recursive: list[str]) -> list[VolumeMountStatus]:
    """`recursive`: the paths that the runtime has mounted read-only with everything below them."""
    modes = {False: "Disabled", True: "Enabled"}
    return [
        VolumeMountStatus(
            name=mount.name,
            mountPath=mount.mountPath,
            readOnly=mount.readOnly,
            recursiveReadOnly=modes[mount.mountPath in recursive] if mount.readOnly else None,
        )
        for mount in container.volumeMounts
    ]
