"""The observations of a pod for the status manager and the prober. Pure."""

from __future__ import annotations

import msgspec

from actors.prober.messages import ProbedContainer, ProbedPod
from actors.shared.cri.model import PodRuntime, is_running
from actors.shared.kube.pod import Pod
from actors.shared.kube.pods import all_containers
from actors.status_manager.messages import PodObserved, TerminationStep, Waiting, WorkerPhase

from .phase_transitions import PodWorkerPhase
from .resize_plan import transitional
from .runtime import remains, unstopped
from .state import PodState
from .unlisted_containers import shown

_WORKER_PHASES: dict[PodWorkerPhase, WorkerPhase] = {
    PodWorkerPhase.ADMITTING: "admitting",
    PodWorkerPhase.RUNNING: "running",
    PodWorkerPhase.TERMINATING: "terminating",
    PodWorkerPhase.TERMINATED: "terminated",
    PodWorkerPhase.ENDED: "terminated",
    PodWorkerPhase.FINISHED: "terminated",
    PodWorkerPhase.REJECTED: "rejected",
}
_OVER = (PodWorkerPhase.FINISHED, PodWorkerPhase.REJECTED, PodWorkerPhase.ENDED, PodWorkerPhase.TERMINATED)


def observed(state: PodState) -> PodObserved:
    """The whole observation of the pod."""
    runtime, phase = _known_runtime(state), state.phase
    if phase is PodWorkerPhase.REJECTED and runtime is not None and not runtime.containers:
        runtime = None  # the pod never had anything on this node
    return PodObserved(
        state.uid,
        state.wanted.data,
        _WORKER_PHASES[phase],
        runtime=runtime,
        waiting={**_restarting_containers(state), **state.waiting},
        reason=state.reason[0],
        message=state.reason[1],
        disruption=_disruption(state),
        sandbox_ready=bool(runtime and runtime.sandboxes and runtime.sandboxes[0].ready),
        gone=phase is PodWorkerPhase.FINISHED,
        finished=phase in (PodWorkerPhase.ENDED, PodWorkerPhase.FINISHED),
        removed=state.wanted.removed,
        termination_step=termination_step(state),
        pulls=list(state.pulls),
        resize=state.resizing.status(),
        actual_resources=transitional(state),
        last_error=state.retry.trouble,
        slow_call=state.view.slow_call[0],
        slow_since=state.view.slow_call[1],
    )


def _known_runtime(state: PodState) -> PodRuntime | None:
    """The known sandboxes and containers of the pod. None before the first look, and while a container runs that the
    runtime has never listed to this worker: the last report about the pod then stays valid."""
    if state.runtime is None or state.phase in _OVER:
        return state.runtime
    return None if state.unlisted.unseen else shown(state.runtime, state.unlisted)


def _disruption(state: PodState) -> str:
    """The message of the condition DisruptionTarget, for a pod that an order terminates."""
    kill = state.wanted.kill
    return kill.disruption if kill is not None and state.reason == (kill.reason, kill.message) else ""


def _restarting_containers(state: PodState) -> dict[str, Waiting]:
    """Containers stopped for a restart, which must not count as ended."""
    runtime, restarting = state.runtime, state.restarting
    ended = (
        [instance for instance in runtime.containers if instance.id in restarting and not is_running(instance)]
        if runtime
        else []
    )
    names = [instance.name for instance in ended if runtime is not None and runtime.newest(instance.name) is instance]
    return {name: Waiting("ContainerCreating") for name in names}


def termination_step(state: PodState) -> TerminationStep:
    """The step that its termination waits for."""
    if state.phase is PodWorkerPhase.TERMINATING:
        if state.runtime is not None and unstopped(state.runtime, state.stopped):
            return "containers"
        return "sandbox" if remains(state.runtime, state.stopped) or not state.may_have_claims else "claims"
    if state.phase is PodWorkerPhase.TERMINATED:
        return "cgroup" if state.acquired.unmounted else "volumes"
    return ""


def same(one: PodObserved | None, other: PodObserved) -> bool:
    """Whether two observations are equal, apart from their times."""
    if one is None or one.runtime is None or other.runtime is None:
        return one == other
    return msgspec.structs.replace(one, runtime=msgspec.structs.replace(one.runtime, at=other.runtime.at)) == other


def probed(state: PodState) -> ProbedPod | None:
    """The probes of a pod; None for a pod that no source ever had, that has no probe, or whose running containers are
    not known."""
    pod, runtime, started = state.wanted.pod, _known_runtime(state), state.verdicts.started
    if pod is None or not has_probes(pod) or (runtime is None and state.unlisted.unseen):
        return None
    containers = []
    for container in all_containers(pod):
        instance = runtime.newest(container.name) if runtime is not None else None
        if instance is not None:
            containers.append(
                ProbedContainer(
                    container.name, instance.id, is_running(instance), instance.started_ns, instance.id in started
                )
            )
    over = state.phase in _OVER
    return ProbedPod(
        state.uid,
        b"" if over else state.wanted.data,
        containers,
        deleting=state.phase is PodWorkerPhase.TERMINATING,
        gone=over,
    )


def has_probes(pod: Pod) -> bool:
    return any(c.livenessProbe or c.readinessProbe or c.startupProbe for c in all_containers(pod))
