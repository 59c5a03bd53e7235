"""Values of a pod, for tests of what phases decide on them."""

from __future__ import annotations

from typing import Any

from actors.pod_workers.phases.phase_functions import next_step
from actors.pod_workers.phases.step import Step, StepInput
from actors.pod_workers.pod.desired_state import DesiredState
from actors.pod_workers.pod.orders import PodWanted
from actors.pod_workers.pod.phase_transitions import PodWorkerEvent
from actors.pod_workers.pod.results import Admitted, RuntimeObserved
from actors.pod_workers.pod.state import PodState, replace
from actors.pod_workers.pod.state_values import PodView
from actors.shared.cri.model import CriContainer, CriContainerState, PodRuntime, Sandbox
from actors.shared.kube.codec import encode
from actors.shared.kube.container import Container
from actors.shared.kube.meta import ObjectMeta
from actors.shared.kube.pod import Pod, PodSpec

NOW = 1_000_000.0


def pod(*names: str, **spec: Any) -> Pod:
    containers = [Container(name=name, image="i") for name in names or ("a",)]
    return Pod(metadata=ObjectMeta(name="p", namespace="d", uid="u"), spec=PodSpec(containers=containers, **spec))


def box(number: int = 0, *, ready: bool = True, created: float = NOW - 60) -> Sandbox:
    created_ns = round(created * 1e9)
    return Sandbox(
        id=f"s{number}",
        pod_uid="u",
        pod_name="p",
        pod_namespace="d",
        attempt=number,
        ready=ready,
        ips=["10.0.0.2"],
        created_ns=created_ns,
    )


def ran(
    name: str = "a", state: CriContainerState = CriContainerState.RUNNING, count: int = 0, exit_code: int = 0
) -> CriContainer:
    times: dict[str, Any] = {"started_ns": round((NOW - 30) * 1e9)}
    if state is CriContainerState.EXITED:
        times["finished_ns"] = round((NOW - 5) * 1e9)
    return CriContainer(
        id=f"{name}-{count}",
        name=name,
        pod_uid="u",
        sandbox_id="s0",
        state=state,
        attempt=count,
        exit_code=exit_code,
        **times,
    )


def runtime(*containers: CriContainer, boxes: tuple[Sandbox, ...] = (box(),), at: float = 1.0) -> PodRuntime:
    return PodRuntime(uid="u", name="p", namespace="d", sandboxes=list(boxes), containers=list(containers), at=at)


def wanted(which: Pod | None = None) -> PodState:
    """New to its pod worker."""
    which = which or pod()
    return PodWanted(which, encode(which)).apply(PodState(uid="u", started_at=NOW))


def running(which: Pod | None = None, *containers: CriContainer, boxes: tuple[Sandbox, ...] = (box(),)) -> PodState:
    """Admitted, and looked at."""
    state = Admitted("/kubepods/podu", {}).apply(wanted(which))
    return RuntimeObserved(runtime(*containers, boxes=boxes)).apply(state)


def orphan(*containers: CriContainer) -> PodState:
    """Only the runtime knows it."""
    return PodState(uid="u", wanted=DesiredState(removed=True), view=PodView(runtime=runtime(*containers)))


def terminating(state: PodState) -> PodState:
    return state.after(PodWorkerEvent.TERMINATE)


def decide(state: PodState, **facts: Any) -> Step:
    return next_step(state, StepInput(**{"now": NOW, **facts}))


def effects(step: Step) -> list[str]:
    """Their names."""
    return [type(effect).__name__ for effect in step.effects]


def rested(state: PodState) -> PodState:
    """In the next round."""
    return replace(state.undone(), due=None)
