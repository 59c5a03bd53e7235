"""What the runtime has of a pod, read for the pod worker: who may have a process, what stays over looks. Pure, but for
the termination messages."""

from __future__ import annotations

import msgspec

from actors.pod_workers.containers.files import termination_log, termination_message
from actors.pod_workers.containers.names import pod_log_directory
from actors.shared.cri.model import Container, ContainerState, PodRuntime
from actors.shared.kube.pod import Pod
from actors.shared.kube.pods import all_containers


def alive(runtime: PodRuntime) -> list[Container]:
    """The containers that may have a process."""
    return [ran for ran in runtime.containers if ran.state in (ContainerState.RUNNING, ContainerState.UNKNOWN)]


def created(runtime: PodRuntime) -> list[Container]:
    """The containers that were created and never started. A runtime does not stop these: they can only be removed."""
    return [ran for ran in runtime.containers if ran.state is ContainerState.CREATED]


def remains(runtime: PodRuntime | None) -> bool:
    """Whether a container or a sandbox still runs, as far as is known."""
    return runtime is not None and (bool(alive(runtime)) or any(sandbox.ready for sandbox in runtime.sandboxes))


def with_addresses(runtime: PodRuntime, before: PodRuntime | None) -> PodRuntime:
    """The same with the addresses that each sandbox had while it was ready: a runtime forgets them when the sandbox
    stops, and the pod's last status has them."""
    known = {sandbox.id: sandbox.ips for sandbox in before.sandboxes} if before is not None else {}
    sandboxes = [
        msgspec.structs.replace(sandbox, ips=known[sandbox.id])
        if not sandbox.ready and not sandbox.ips and known.get(sandbox.id)
        else sandbox
        for sandbox in runtime.sandboxes
    ]
    return msgspec.structs.replace(runtime, sandboxes=sandboxes)


def with_messages(runtime: PodRuntime, pod: Pod, pod_dir: str, logs_dir: str) -> PodRuntime:
    """A look with the termination messages of the containers that have ended, read from their files. Each
    follows what the runtime says of the end."""
    policies = {container.name: container.terminationMessagePolicy for container in all_containers(pod)}
    containers = []
    for ran in runtime.containers:
        if ran.state is ContainerState.EXITED and ran.name in policies:
            text = termination_message(
                termination_log(pod_dir, ran.name, ran.restart_count),
                f"{pod_log_directory(logs_dir, pod)}/{ran.name}/{ran.restart_count}.log",
                fallback=policies[ran.name] == "FallbackToLogsOnError" and ran.exit_code != 0,
            )
            message = ": ".join(part for part in (ran.message, text) if part)
            containers.append(msgspec.structs.replace(ran, message=message))
        else:
            containers.append(ran)
    return msgspec.structs.replace(runtime, containers=containers)
