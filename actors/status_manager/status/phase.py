"""The phase of a pod, from the statuses of its containers (API reference, PodPhase; KEP-753 for sidecars)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Literal

from actors.shared.kube.container import Container
from actors.shared.kube.pod import ContainerStateTerminated, ContainerStatus, Pod
from actors.shared.kube.pods import is_sidecar, is_static, sidecars
from actors.shared.kube.restart_policy import can_restart_all, init_exit_code, may_restart

Phase = Literal["Pending", "Running", "Succeeded", "Failed"]


def _terminated_state(status: ContainerStatus | None) -> ContainerStateTerminated | None:
    """The terminated state of a container, also while it waits for its restart; None: it has not ended."""
    if status is None:
        return None
    if status.state.terminated is not None:
        return status.state.terminated
    return status.lastState.terminated if status.state.waiting is not None else None


def exit_code(status: ContainerStatus | None) -> int | None:
    """The exit code of a container, also while it waits for its restart; None: it has not ended."""
    ended = _terminated_state(status)
    return None if ended is None else ended.exitCode


def pod_phase(pod: Pod, statuses: Mapping[str, ContainerStatus], *, ended: bool, initialized: bool) -> Phase:
    """`ended`: no container runs, and none will start. `initialized`: a regular container has run."""
    init = Counter(_init_case(each, statuses.get(each.name), pod) for each in pod.spec.initContainers)
    regular = Counter(_regular_case(each, statuses.get(each.name), pod) for each in pod.spec.containers)
    if init["failed"]:
        return "Failed"
    if init["pending"] or (init["sidecar pending"] and not initialized):
        return "Pending"
    if regular["waiting"] or not regular:
        return "Pending"
    if regular["running"] or any(_runs(statuses.get(each.name)) for each in sidecars(pod)):
        return "Running"
    all_good = all(exit_code(statuses.get(each.name)) == 0 for each in pod.spec.containers)
    if ended and not is_static(pod):
        return "Succeeded" if all_good else "Failed"
    if regular["restarting"]:
        return "Running"
    return "Succeeded" if all_good else "Failed"


def _init_case(container: Container, status: ContainerStatus | None, pod: Pod) -> str:
    """The case of an init container: pending, finally failed, or done. For a sidecar: sidecar pending, or done."""
    ended = _terminated_state(status)
    if is_sidecar(container):
        up = status is not None and status.state.running is not None and bool(status.started)
        return "done" if up or ended is not None else "sidecar pending"
    if ended is None:
        return "pending"
    code = init_exit_code(ended.exitCode, ended.reason)
    if code == 0:
        return "done"
    again = may_restart(pod, container, code, init=True) or _restarts_with_all(status, pod)
    return "pending" if again else "failed"


def _restarts_with_all(status: ContainerStatus | None, pod: Pod) -> bool:
    """Whether the restart of all containers (KEP-5532) has stopped this one: it starts again under any policy. In such
    a pod no other container waits whose policy lets it end."""
    return status is not None and status.state.waiting is not None and can_restart_all(pod)


def _runs(status: ContainerStatus | None) -> bool:
    return status is not None and status.state.running is not None


def _regular_case(container: Container, status: ContainerStatus | None, pod: Pod) -> str:
    """The case of a regular container: running, waiting for its first start, restarting, or stopped for good."""
    if _runs(status):
        return "running"
    code = exit_code(status)
    if code is None:
        return "waiting"
    if may_restart(pod, container, code, init=False) or _restarts_with_all(status, pod):
        return "restarting"
    return "stopped"
