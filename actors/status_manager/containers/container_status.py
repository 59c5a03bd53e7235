"""The API status of each container: states, counts that only grow, facts from the runtime and the probes. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from actors.shared.cri.model import CriContainer, CriContainerState
from actors.shared.kube.container import Container
from actors.shared.kube.pod import (
    ContainerState,
    ContainerStatus,
    ContainerUser,
    LinuxContainerUser,
    Pod,
    ResourceStatus,
    VolumeMountStatus,
)
from actors.shared.kube.pods import all_containers, is_sidecar
from actors.shared.kube.restart_policy import ended_for_good, init_exit_code

from .claim_health import device_statuses, is_claim, resource_statuses
from .container_resources import container_resources
from .container_states import NOTHING, container_id, last_of, lost_state, state_of, terminated_state, two_newest
from .container_status_input import ContainerStatusInput, Readiness

MESSAGE_BYTES: Final = 12 << 10
"""The most bytes of all termination messages of one pod."""


def statuses(
    view: ContainerStatusInput, containers: list[Container], before: Mapping[str, ContainerStatus], *, init: bool
) -> list[ContainerStatus]:
    """A status for each container: init containers in their order, others by name."""
    found = [_status(view, container, before.get(container.name), init=init) for container in containers]
    return found if init else sorted(found, key=lambda status: status.name)


def _status(
    view: ContainerStatusInput, container: Container, before: ContainerStatus | None, *, init: bool
) -> ContainerStatus:
    newest, previous = two_newest(view.runtime, container.name)
    over = view.ended or (init and view.initialized and not is_sidecar(container))
    over = over or (not init and before is not None and ended_for_good(view.pod, container, before) is not None)
    if newest is None and over and before is not None and before.state.terminated is not None:
        return before  # the runtime has forgotten its end: keep the reported one
    state, last = state_of(view, container, newest, init=init)
    if last == NOTHING and previous is not None and previous.state is CriContainerState.EXITED:
        last = ContainerState(terminated=terminated_state(view, previous))
    if last == NOTHING and newest is not None and before is not None:
        last = last_of(before, newest)
    restarts = newest.restart_count if newest is not None else 0
    if before is not None:
        restarts = max(restarts, before.restartCount)
        state, last, lost = lost_state(view, before, newest, state, last)
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
        containerID=container_id(view, newest) if newest is not None else "",
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
