"""Which containers of a pod have other resources than were allocated to them (KEP-1287), and how each gets them.
Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from actors.pod_workers.containers import allocation
from actors.shared.cri.model import Container as Ran
from actors.shared.cri.model import is_running
from actors.shared.kube.container import Container, ResourceRequirements
from actors.shared.kube.pod import Pod
from actors.shared.kube.pods import is_sidecar

from .state import PodState


def outdated(state: PodState) -> list[tuple[Container, Ran, list[str]]]:
    """Containers that run with other resources than were allocated to them, and which of cpu and memory these are."""
    if state.resizing.allocated is None:
        return []
    found = []
    for container, ran in _running(state):
        names = allocation.resized(resources_of(state, container, ran), container.resources)
        if names:
            found.append((container, ran, names))
    return found


def with_limits_of_pod(state: PodState) -> list[tuple[Container, Ran, list[str]]]:
    """Containers that run and have the pod's limit of cpu or memory, as they have none of their own (KEP-2837), and of
    which of both."""
    pod = state.wanted.pod
    given = pod.spec.resources.limits if pod is not None and pod.spec.resources is not None else {}
    found = []
    for container, ran in _running(state):
        names = [name for name in allocation.RESIZABLE if name in given and name not in container.resources.limits]
        if names:
            found.append((container, ran, names))
    return found


def _running(state: PodState) -> Iterator[tuple[Container, Ran]]:
    """The sidecars and regular containers that run."""
    pod, runtime = state.wanted.pod, state.runtime
    if pod is None or runtime is None:
        return
    for container in (*filter(is_sidecar, pod.spec.initContainers), *pod.spec.containers):
        ran = runtime.newest(container.name)
        if ran is not None and is_running(ran):
            yield container, ran


def resources_of(state: PodState, container: Container, ran: Ran) -> ResourceRequirements:
    """What this instance has."""
    return state.resizing.actuated.get(ran.id) or allocation.made_with(ran) or container.resources


def transitional(state: PodState) -> dict[str, ResourceRequirements]:
    """By name: what those containers have that do not have what is allocated to them."""
    return {container.name: resources_of(state, container, ran) for container, ran, _ in outdated(state)}


def by_restart(container: Container, names: list[str]) -> bool:
    """Whether the container's policy asks for a restart where these are resized."""
    policies = {each.resourceName: each.restartPolicy for each in container.resizePolicy}
    return any(policies.get(name) == "RestartContainer" for name in names)


def swaps(given: Pod, desired: Pod, may_swap: Callable[[Pod, str], bool]) -> bool:
    """Whether the memory of a container that may be swapped is to change in place: its share of swap would, too."""
    before = allocation.of(given)
    for container in (*desired.spec.initContainers, *desired.spec.containers):
        names = allocation.resized(before.get(container.name, ResourceRequirements()), container.resources)
        in_place = "memory" in names and not by_restart(container, ["memory"])
        if in_place and may_swap(given, container.name):
            return True
    return False
