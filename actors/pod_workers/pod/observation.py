"""What a driver tells the status manager and the prober of its pod. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from actors.pod_workers.containers.files import termination_log, termination_message
from actors.pod_workers.containers.names import pod_log_directory
from actors.pod_workers.executor.resizing import transitional
from actors.pod_workers.phases.termination_plan import alive
from actors.prober.messages import ProbedContainer, ProbedPod
from actors.shared.cri.model import ContainerState, is_running
from actors.shared.kube.pod import Pod
from actors.shared.kube.pods import all_containers
from actors.status_manager.messages import PodObserved, TerminationStep, Waiting, WorkerPhase

from .table import Stage

if TYPE_CHECKING:
    from actors.pod_workers.executor.pod_worker import PodDriver
    from actors.shared.cri.model import PodRuntime

_WORKER_PHASES: dict[Stage, WorkerPhase] = {
    Stage.ADMITTING: "admitting",
    Stage.RUNNING: "running",
    Stage.TERMINATING: "terminating",
    Stage.TERMINATED: "terminated",
    Stage.ENDED: "terminated",
    Stage.FINISHED: "terminated",
    Stage.REJECTED: "rejected",
}


def observed(driver: PodDriver, reason: tuple[str, str]) -> PodObserved:
    """Everything that is known of the pod."""
    runtime = driver.runtime
    if driver.stage is Stage.REJECTED and runtime is not None and not runtime.containers:
        runtime = None  # it never had anything here
    return PodObserved(
        driver.uid,
        driver.data,
        _WORKER_PHASES[driver.stage],
        runtime=runtime,
        waiting={**_renewed(driver), **driver.waiting},
        reason=reason[0],
        message=reason[1],
        sandbox_ready=bool(runtime and runtime.sandboxes and runtime.sandboxes[0].ready),
        gone=driver.stage is Stage.FINISHED,
        finished=driver.stage in (Stage.ENDED, Stage.FINISHED),
        removed=driver.removed,
        termination_step=termination_step(driver),
        pulls=list(driver.pulls),
        resize=driver.resizing.told(),
        actual_resources=transitional(driver),
        termination_error=driver.trouble if driver.stage in (Stage.TERMINATING, Stage.TERMINATED) else "",
    )


def _renewed(driver: PodDriver) -> dict[str, Waiting]:
    """What was ended in order to be begun anew has not ended for good: nobody is to take it for that."""
    runtime, renewed = driver.runtime, driver.unfinished.renewed
    ended = [ran for ran in runtime.containers if ran.id in renewed and not is_running(ran)] if runtime else []
    names = [ran.name for ran in ended if runtime is not None and runtime.newest(ran.name) is ran]
    return {name: Waiting("ContainerCreating") for name in names}


def termination_step(driver: PodDriver) -> TerminationStep:
    """How far its end has come."""
    if driver.stage is Stage.TERMINATING:
        return "containers" if driver.runtime is not None and alive(driver.runtime) else "sandbox"
    if driver.stage is Stage.TERMINATED:
        return "cgroup" if driver.unmounted else "volumes"
    return ""


def same(one: PodObserved | None, other: PodObserved) -> bool:
    """Whether two observations say the same, whenever they were made."""
    if one is None or one.runtime is None or other.runtime is None:
        return one == other
    return msgspec.structs.replace(one, runtime=msgspec.structs.replace(one.runtime, at=other.runtime.at)) == other


def probed(driver: PodDriver) -> ProbedPod | None:
    """What there is to probe; None for a pod that was never wanted here, or has no probe."""
    pod = driver.pod
    if pod is None or not has_probes(pod):
        return None
    runtime, gone = driver.runtime, driver.stage in (Stage.FINISHED, Stage.REJECTED, Stage.ENDED, Stage.TERMINATED)
    containers = []
    for container in all_containers(pod):
        ran = runtime.newest(container.name) if runtime is not None else None
        if ran is not None:
            running = ran.state is ContainerState.RUNNING
            started = ran.id in driver.verdicts.started
            containers.append(ProbedContainer(container.name, ran.id, running, ran.started_ns, started))
    return ProbedPod(
        driver.uid,
        b"" if gone else driver.data,
        containers,
        deleting=driver.stage is Stage.TERMINATING,
        gone=gone,
    )


def has_probes(pod: Pod) -> bool:
    return any(c.livenessProbe or c.readinessProbe or c.startupProbe for c in all_containers(pod))


def with_addresses(runtime: PodRuntime, before: PodRuntime | None) -> PodRuntime:
    """The same with the addresses that a sandbox had while it was ready: runtimes forget them when it stops, users want
    them in the pod's last status."""
    known = {sandbox.id: sandbox.ips for sandbox in before.sandboxes} if before is not None else {}
    sandboxes = [
        msgspec.structs.replace(sandbox, ips=known[sandbox.id])
        if not sandbox.ready and not sandbox.ips and known.get(sandbox.id)
        else sandbox
        for sandbox in runtime.sandboxes
    ]
    return msgspec.structs.replace(runtime, sandboxes=sandboxes)


def with_messages(runtime: PodRuntime, pod: Pod, pod_dir: str, logs_dir: str) -> PodRuntime:
    """The same with the last words of the containers that have ended."""
    policies = {container.name: container.terminationMessagePolicy for container in all_containers(pod)}
    containers = []
    for ran in runtime.containers:
        if ran.state is ContainerState.EXITED and not ran.message and ran.name in policies:
            text = termination_message(
                termination_log(pod_dir, ran.name, ran.restart_count),
                f"{pod_log_directory(logs_dir, pod)}/{ran.name}/{ran.restart_count}.log",
                fallback=policies[ran.name] == "FallbackToLogsOnError" and ran.exit_code != 0,
            )
            containers.append(msgspec.structs.replace(ran, message=text) if text else ran)
        else:
            containers.append(ran)
    return msgspec.structs.replace(runtime, containers=containers)
