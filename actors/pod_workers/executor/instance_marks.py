"""The progress of hooks and startup probes of a pod's containers, as marks in the pod's directory.

A worker that dies loses no hook. Hooks that have ended and startup probes that have passed do not run again. A hook
that was interrupted by its worker's death runs again: hooks are delivered at least once (Kubernetes documentation,
Container Lifecycle Hooks).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from actors.pod_workers.containers import files
from actors.pod_workers.pod.event import PodEvent
from actors.pod_workers.pod.orders import ProbeDecided
from actors.pod_workers.pod.results import PreStopStarted
from actors.pod_workers.pod.starts import PostStartStarted
from actors.shared.cri.model import CriContainer, PodRuntime, is_running
from actors.shared.kube import names
from actors.shared.kube.container import Container
from actors.shared.kube.handlers import Lifecycle
from actors.shared.kube.pod import Pod
from actors.shared.kube.pods import container_statuses, find_container
from supervision.actor import Actor

POST_START: Final = "post-start-due"
PRE_STOP: Final = "pre-stop-ended"
STARTED: Final = "startup-passed"
_MARKS: Final[tuple[files.Mark, ...]] = (POST_START, PRE_STOP, STARTED)


def found(pod: Pod, runtime: PodRuntime, pod_dir: str) -> Iterator[PodEvent]:
    """The marks that an earlier incarnation left for the running containers."""
    for cri_container in runtime.containers:
        container = find_container(pod, cri_container.name) if is_running(cri_container) else None
        if container is None:
            continue
        hooks, instance = container.lifecycle or Lifecycle(), (pod_dir, cri_container.name, cri_container.restart_count)
        passed = files.has_mark(*instance, STARTED) or _is_started_elsewhere(pod, cri_container)
        if container.startupProbe is not None and passed:
            yield ProbeDecided(cri_container.id, "startup", True)
        if hooks.postStart is not None and files.has_mark(*instance, POST_START):
            yield PostStartStarted(cri_container.id)
        if hooks.preStop is not None and files.has_mark(*instance, PRE_STOP):
            yield PreStopStarted(cri_container.id)


def _is_started_elsewhere(pod: Pod, cri_container: CriContainer) -> bool:
    """Whether the startup probe has passed under another agent, which leaves no marks: by the pod's status at the API
    server, as in a kubelet that restarts."""
    if names.CONTAINER_RESTARTS_IN_A_ROW in cri_container.annotations:
        return False  # a container of this agent, which writes a mark
    end = f"://{cri_container.id}"
    return any(one.started and one.containerID.endswith(end) for one in container_statuses(pod.status))


def prepare(actor: Actor, container: Container, pod_dir: str, restart_count: int) -> None:
    """Prepare the marks of an instance before its start: remove those of the instance before it, and of an older one
    with the same restart count (the count starts at 0 again if runtime and logs have lost it). If a mark cannot be
    written, the container starts without it."""
    try:
        files.clear_mark(pod_dir, container.name, restart_count, STARTED)
        files.clear_mark(pod_dir, container.name, restart_count, PRE_STOP)
        if has_post_start(container):
            files.set_mark(pod_dir, container.name, restart_count, POST_START)
        for mark in _MARKS if restart_count else ():
            files.clear_mark(pod_dir, container.name, restart_count - 1, mark)
    except OSError as error:
        actor.log.warning("the progress of the hooks of %s is lost if its worker dies now: %s", container.name, error)


def post_start_ended(actor: Actor, container: Container, pod_dir: str, restart_count: int) -> None:
    try:
        files.clear_mark(pod_dir, container.name, restart_count, POST_START)
    except OSError as error:
        actor.log.warning("the postStart hook of %s may run again: %s", container.name, error)


def pre_stop_ended(actor: Actor, cri_container: CriContainer, pod_dir: str) -> None:
    try:
        files.set_mark(pod_dir, cri_container.name, cri_container.restart_count, PRE_STOP)
    except OSError as error:
        actor.log.warning("the preStop hook of %s may run again: %s", cri_container.name, error)


def startup_passed(actor: Actor, cri_container: CriContainer, pod_dir: str) -> None:
    try:
        files.set_mark(pod_dir, cri_container.name, cri_container.restart_count, STARTED)
    except OSError as error:
        actor.log.warning("the startup probe of %s may run again: %s", cri_container.name, error)


def has_post_start(container: Container) -> bool:
    return container.lifecycle is not None and container.lifecycle.postStart is not None
