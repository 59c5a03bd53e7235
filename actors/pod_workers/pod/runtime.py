"""Reads the runtime's state of a pod: containers that may have a process, and data to keep between looks. Pure, except
for the termination messages."""

from __future__ import annotations

import os
from collections.abc import Iterator
from collections.abc import Set as AbstractSet

import msgspec

from actors.pod_workers.containers.files import termination_log, termination_message
from actors.pod_workers.containers.names import log_directory_name, log_path
from actors.shared.cri.model import CriContainer, CriContainerState, PodRuntime, is_running
from actors.shared.cri.next_instance import starts_again
from actors.shared.kube.pod import ContainerStatus, Pod
from actors.shared.kube.pods import all_containers
from actors.shared.kube.restart_policy import can_restart_all, ended_for_good

from .lost_container import UNKNOWN_SANDBOX, LostContainer


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


def lost(
    pod: Pod | None, before: PodRuntime | None, now: PodRuntime, restarting: AbstractSet[str] = frozenset()
) -> dict[str, LostContainer]:
    """The containers that ran or had ended for good, and of which the runtime has no instance any more, by name.
    `restarting`: ids of those that were stopped for a restart. A pod that restarts all of its containers has them
    removed by the agent."""
    if before is None:
        return {}
    found = {one.name: LostContainer(one.sandbox_id) for one in before.containers if is_running(one)}
    if pod is not None and not can_restart_all(pod):
        found |= dict(_ended(pod, before, restarting))
    return {name: one for name, one in found.items() if now.newest(name) is None}


def _ended(pod: Pod, runtime: PodRuntime, restarting: AbstractSet[str]) -> Iterator[tuple[str, LostContainer]]:
    """The regular containers that have ended for good, by name, each as it counts if the runtime loses it."""
    for container in pod.spec.containers:
        last = runtime.newest(container.name)
        if last is None or last.state is not CriContainerState.EXITED or last.id in restarting:
            continue
        if not starts_again(pod, container, last, init=False):
            yield container.name, LostContainer(last.sandbox_id, last.exit_code)


def lost_meanwhile(pod: Pod, now: PodRuntime) -> dict[str, LostContainer]:
    """The containers that the runtime has lost while no agent ran: they run by the status that the API server has, or
    have ended for good, and the runtime has no instance of them. By name.

    A completed init container may be removed, by the agent too. So may all containers of a pod that restarts all of
    them.
    """
    if can_restart_all(pod):
        return {}
    shown = {one.name: one for one in (*pod.status.initContainerStatuses, *pod.status.containerStatuses)}
    all_of_them = (*pod.spec.initContainers, *pod.spec.containers)
    found = {one.name: LostContainer(UNKNOWN_SANDBOX) for one in all_of_them if _runs(shown.get(one.name))}
    for container in pod.spec.containers:
        status = shown.get(container.name)
        ended = ended_for_good(pod, container, status) if status is not None else None
        if ended is not None:
            found[container.name] = LostContainer(UNKNOWN_SANDBOX, ended.exitCode)
    return {name: one for name, one in found.items() if now.newest(name) is None}


def _runs(status: ContainerStatus | None) -> bool:
    return status is not None and status.state.running is not None


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
