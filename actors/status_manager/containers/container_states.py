"""State and last state of a container, from the runtime, the worker's waiting reasons, and the last status. Pure."""

from __future__ import annotations

from typing import Final

from actors.shared.cri.model import START_ERROR, CriContainer, CriContainerState, PodRuntime
from actors.shared.kube.container import Container
from actors.shared.kube.pod import (
    ContainerState,
    ContainerStateRunning,
    ContainerStateTerminated,
    ContainerStateWaiting,
    ContainerStatus,
    Pod,
)
from actors.shared.kube.pods import is_sidecar
from actors.shared.kube.restart_policy import POST_START_ERROR, RESTARTING_ALL, may_restart

from ..messages import Waiting
from ..times import time_of_ns
from .container_status_input import ContainerStatusInput
from .lost_containers import lost_end

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
LOST_TEXT: Final = "The container could not be located when the pod was deleted.  The container used to be Running"
NOTHING: Final = ContainerState()


def state_of(
    view: ContainerStatusInput, container: Container, newest: CriContainer | None, *, init: bool
) -> tuple[ContainerState, ContainerState]:
    """The state, and the last state if the same instance determines it."""
    waiting = None if view.deleting else view.waiting.get(container.name)  # nothing of a deleted pod starts again
    if newest is not None and newest.state is CriContainerState.RUNNING:
        return ContainerState(running=ContainerStateRunning(startedAt=time_of_ns(newest.started_ns))), NOTHING
    if newest is not None and newest.start_given_up and not view.ended:
        return _waits(view, waiting), NOTHING  # it is being created again: this end does not count
    if newest is not None and newest.state is CriContainerState.EXITED:
        ended = ContainerState(terminated=terminated_state(view, newest))
        waits = (
            waiting is not None and not view.ended and _starts_again(view.pod, container, newest, waiting, init=init)
        )
        return (_waits(view, waiting), ended) if waits else (ended, NOTHING)
    if newest is None and init and view.initialized and not is_sidecar(container):
        completed = ContainerStateTerminated(exitCode=0, reason="Completed", message=FORGOTTEN)
        return ContainerState(terminated=completed), NOTHING
    return _waits(view, waiting), NOTHING


def _starts_again(pod: Pod, container: Container, ended: CriContainer, waiting: Waiting, *, init: bool) -> bool:
    """Whether an ended container waits for a restart. One that its policy restarts has ended, as in the kubelet, until
    there is a reason to wait. A container whose start or postStart hook failed, and whose policy does not restart it,
    does not wait. Any other may have been stopped for a restart, under any policy.
    """
    by_policy = may_restart(pod, container, ended.exit_code, init=init)
    if waiting.reason in ("", *DEFAULT_REASONS):
        return not by_policy
    failed = ended.reason == START_ERROR or waiting.reason == POST_START_ERROR
    return by_policy or waiting.reason == RESTARTING_ALL or not failed


def _waits(view: ContainerStatusInput, waiting: Waiting | None) -> ContainerState:
    if waiting is not None and waiting.reason not in ("", *DEFAULT_REASONS):
        return ContainerState(waiting=ContainerStateWaiting(reason=waiting.reason, message=waiting.message))
    reason = INITIALIZING if view.pod.spec.initContainers else CREATING
    return ContainerState(waiting=ContainerStateWaiting(reason=reason))


def lost_state(
    view: ContainerStatusInput,
    before: ContainerStatus,
    newest: CriContainer | None,
    state: ContainerState,
    last: ContainerState,
) -> tuple[ContainerState, ContainerState, int]:
    """State, last state and restarts to add (0 or 1) of a container. One that ran and that the runtime no longer has is
    terminated with an unknown exit code.
    """
    if newest is not None and _is_forgotten(before, newest):
        return state, last, 1
    gone = newest is None or newest.state is CriContainerState.UNKNOWN
    if newest is not None and not gone and _was_replaced(view, before):
        counted = newest.restart_count > before.restartCount
        return state, last if last != NOTHING else lost_end(LOST_TEXT), 0 if counted else 1
    if not gone or state.terminated is not None:
        return state, last, 0
    if before.state.running is not None:
        return state, lost_end(LOST_TEXT), 0 if view.deleting or view.ended else 1
    if before.state.terminated is not None:
        return (before.state, before.lastState, 0) if view.ended else (state, before.state, 0)
    return state, before.lastState, 0


def _is_forgotten(before: ContainerStatus, newest: CriContainer) -> bool:
    """Whether an ended container runs again, and the runtime has forgotten its earlier runs: it has lost containers and
    logs, as with a reboot."""
    missing = before.state.waiting is not None and not before.containerID
    ended = before.lastState.terminated if missing else before.state.terminated
    known = ended.containerID if ended is not None else ""  # a lost end has none: it has counted already
    running = newest.state is CriContainerState.RUNNING
    replaced = bool(known) and not is_instance(known, newest)
    return replaced and running and newest.restart_count <= before.restartCount


def _was_replaced(view: ContainerStatusInput, before: ContainerStatus) -> bool:
    """Whether the container ran as another instance, which the runtime no longer has."""
    there = view.runtime.containers if view.runtime is not None else []
    instance = before.containerID if before.state.running is not None else ""
    return bool(instance) and not any(is_instance(instance, one) for one in there)


def terminated_state(view: ContainerStatusInput, container: CriContainer) -> ContainerStateTerminated:
    return ContainerStateTerminated(
        exitCode=container.exit_code,
        reason=container.reason or ("Completed" if container.exit_code == 0 else "Error"),
        message=container.message,
        startedAt=time_of_ns(container.started_ns) or NEVER_STARTED,
        finishedAt=time_of_ns(container.finished_ns),
        containerID=container_id(view, container),
    )


def container_id(view: ContainerStatusInput, instance: CriContainer) -> str:
    return f"{view.runtime_name}://{instance.id}"


def is_instance(reported: str, instance: CriContainer) -> bool:
    """Whether the containerID of a status is that of this instance. The runtime's name in front of it may be another
    one: it is not known yet just after a start."""
    return reported.rpartition("://")[2] == instance.id


def last_of(before: ContainerStatus, newest: CriContainer) -> ContainerState:
    """The last state as it was reported, for a previous instance that the runtime no longer has. A restart of all
    containers and garbage collection remove instances.
    """
    if not is_instance(before.containerID, newest) and before.state.terminated is not None:
        return before.state
    last = before.lastState.terminated
    if last is not None and is_instance(last.containerID, newest):
        return NOTHING  # the end of this instance, which was shown while it waited for its restart
    return before.lastState


def two_newest(runtime: PodRuntime | None, name: str) -> tuple[CriContainer | None, CriContainer | None]:
    same = [each for each in (runtime.containers if runtime else ()) if each.name == name]
    return (same[0] if same else None), (same[1] if len(same) > 1 else None)
