"""Reads the runtime's state of a pod: containers that may have a process, and data to keep between looks. Pure, except
for the termination messages."""

from __future__ import annotations

import os
from collections.abc import Set as AbstractSet
from typing import Final

import msgspec

from actors.pod_workers.containers.files import termination_log, termination_message
from actors.pod_workers.containers.names import log_directory_name, log_path
from actors.shared.cri.model import CriContainer, CriContainerState, PodRuntime, is_running
from actors.shared.kube.container import Container
from actors.shared.kube.pod import ContainerStatus, Pod
from actors.shared.kube.pods import all_containers
from actors.shared.kube.restart_policy import can_restart_all, may_restart

UNKNOWN_SANDBOX: Final = "unknown"
"""In place of the id of a sandbox: it is not known in which one the container ran."""


def alive(runtime: PodRuntime) -> list[CriContainer]:
    """The containers that may have a process."""
    return [
        instance
        for instance in runtime.containers
        if instance.state in (CriContainerState.RUNNING, CriContainerState.UNKNOWN)
    ]


def created(runtime: PodRuntime) -> list[CriContainer]:
    """The containers that were created but never started. A runtime cannot stop these, only remove them."""
    return [instance for instance in runtime.containers if instance.state is CriContainerState.CREATED]


def unstopped(runtime: PodRuntime, stopped: AbstractSet[str]) -> list[CriContainer]:
    """The containers that may have a process. As in the kubelet, a container in the state unknown has none once the
    runtime has stopped it; `stopped`: ids of these."""
    return [instance for instance in alive(runtime) if is_running(instance) or instance.id not in stopped]


def remains(runtime: PodRuntime | None, stopped: AbstractSet[str] = frozenset()) -> bool:
    """Whether a container or a sandbox may still run. `stopped`: ids of containers that the runtime has stopped."""
    if runtime is None:
        return False
    return bool(unstopped(runtime, stopped)) or any(sandbox.ready for sandbox in runtime.sandboxes)


def lost(before: PodRuntime | None, now: PodRuntime) -> dict[str, str]:
    """The containers that ran, and of which the runtime has no instance any more, since another program has removed
    them: the id of the sandbox of each, by name."""
    instance = {one.name: one.sandbox_id for one in before.containers if is_running(one)} if before is not None else {}
    return {name: sandbox for name, sandbox in instance.items() if now.newest(name) is None}


def lost_meanwhile(pod: Pod, now: PodRuntime) -> dict[str, str]:
    """The containers that the runtime has lost while no agent ran: they run by the status that the API server has, or
    have ended for good, and the runtime has no instance of them. UNKNOWN_SANDBOX by name.

    A completed init container may be removed, by the agent too. So may all containers of a pod that restarts all of
    them.
    """
    if can_restart_all(pod):
        return {}
    shown = {one.name: one for one in (*pod.status.initContainerStatuses, *pod.status.containerStatuses)}
    started = [one.name for one in pod.spec.initContainers if _runs(shown.get(one.name))]
    started += [
        one.name for one in pod.spec.containers if _runs(shown.get(one.name)) or _is_over(pod, one, shown.get(one.name))
    ]
    return {name: UNKNOWN_SANDBOX for name in started if now.newest(name) is None}


def _runs(status: ContainerStatus | None) -> bool:
    return status is not None and status.state.running is not None


def _is_over(pod: Pod, container: Container, status: ContainerStatus | None) -> bool:
    ended = status.state.terminated if status is not None else None
    return ended is not None and not may_restart(pod, container, ended.exitCode, init=False)


def with_addresses(runtime: PodRuntime, before: PodRuntime | None) -> PodRuntime:
    """Keep the addresses that each sandbox had while it was ready: a runtime forgets them when the sandbox stops, but
    the pod's final status has them."""
    known = {sandbox.id: sandbox.ips for sandbox in before.sandboxes} if before is not None else {}
    sandboxes = [
        msgspec.structs.replace(sandbox, ips=known[sandbox.id])
        if not sandbox.ready and not sandbox.ips and known.get(sandbox.id)
        else sandbox
        for sandbox in runtime.sandboxes
    ]
    return msgspec.structs.replace(runtime, sandboxes=sandboxes)


def with_messages(runtime: PodRuntime, pod: Pod, pod_dir: str, logs_dir: str) -> PodRuntime:
    """Add the termination messages of ended containers, read from their files. Each is appended to the runtime's
    message."""
    policies = {container.name: container.terminationMessagePolicy for container in all_containers(pod)}
    logs = log_directory_name(pod)
    containers = []
    for instance in runtime.containers:
        if instance.state is CriContainerState.EXITED and instance.name in policies:
            text = termination_message(
                _message_file(instance, pod_dir),
                logs_dir,
                f"{logs}/{log_path(instance.name, instance.restart_count)}",
                fallback=policies[instance.name] == "FallbackToLogsOnError" and instance.exit_code != 0,
            )
            message = ": ".join(part for part in (instance.message, text) if part)
            containers.append(msgspec.structs.replace(instance, message=message))
        else:
            containers.append(instance)
    return msgspec.structs.replace(runtime, containers=containers)


def _message_file(instance: CriContainer, pod_dir: str) -> str:
    """The file with its termination message. Other agents, as the kubelet, give it a name that only the mount tells; a
    file of another directory is not read."""
    own = termination_log(pod_dir, instance.name, instance.restart_count)
    directory = os.path.dirname(own)
    return instance.message_file if os.path.dirname(instance.message_file) == directory else own
