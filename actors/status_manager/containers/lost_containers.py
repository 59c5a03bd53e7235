"""Containers of a finished pod whose end was not observed: decides which count as failed and which never started.
Pure."""

from __future__ import annotations

from typing import Final

import msgspec

from actors.shared.kube.pod import ContainerState, ContainerStateTerminated, ContainerStatus, Pod, PodStatus
from actors.shared.kube.pods import is_sidecar

UNKNOWN_EXIT: Final = 137
LOST: Final = "ContainerStatusUnknown"
_TEXT: Final = "The container could not be located when the pod was terminated"


def lost_end(text: str = _TEXT) -> ContainerState:
    return ContainerState(terminated=ContainerStateTerminated(exitCode=UNKNOWN_EXIT, reason=LOST, message=text))


def with_lost_ends(
    pod: Pod, init: list[ContainerStatus], regular: list[ContainerStatus], final: PodStatus | None = None
) -> tuple[list[ContainerStatus], list[ContainerStatus]]:
    """Like the kubelet, this fails the regular containers of an initialized pod, and the init containers up to the last
    one that started. The others stay waiting. `final`: the status of the finished pod, if it has been computed before.
    """
    started_containers = 1 + max((place for place, status in enumerate(init) if _has_started(status)), default=0)
    return (
        [*map(failed, init[:started_containers]), *init[started_containers:]],
        [failed(status) for status in regular] if _is_initialized(pod, regular, final) else regular,
    )


def failed(status: ContainerStatus) -> ContainerStatus:
    """The container status, terminated as a lost container."""
    if status.state.terminated is not None:
        return status
    return msgspec.structs.replace(status, state=lost_end(), ready=False, started=False)


def never_started(status: ContainerStatus | None) -> bool:
    """Whether the pod is finished and the runtime never had the container, so that its end is unknown."""
    ended = status.state.terminated if status is not None else None
    return ended is not None and status is not None and ended.reason == LOST and not status.containerID


def _has_started(status: ContainerStatus) -> bool:
    return status.state.waiting is None or status.lastState.terminated is not None


def _is_initialized(pod: Pod, regular: list[ContainerStatus], final: PodStatus | None) -> bool:
    """Whether the regular containers should have started. An init container that completes while the pod is being
    stopped does not count, because the API server's status is older than that, unless it is of the finished pod.
    """
    if not pod.spec.initContainers or any(_has_started(status) for status in regular):
        return True
    if final is not None and final.containerStatuses:
        return any(_has_started(status) for status in final.containerStatuses)
    init = pod.status.initContainerStatuses
    if not init:
        return False
    last = init[-1]
    if is_sidecar(pod.spec.initContainers[-1]):
        return last.state.running is not None and bool(last.started)
    return any(end is not None and end.exitCode == 0 for end in (last.state.terminated, last.lastState.terminated))
