"""What is done with a pod that is new to its pod worker."""

from __future__ import annotations

from actors.pod_workers.messages import KillPod
from actors.pod_workers.pod.orders import KillOrdered, PodRemoved
from actors.pod_workers.pod.phase_transitions import PodWorkerPhase
from actors.pod_workers.pod.results import Interrupted, RuntimeObserved, UnlistedFound
from actors.pod_workers.pod.unlisted_containers import UnlistedContainers
from actors.shared.cri.model import CriContainerState
from tests.support.pod_states import decide, effects, pod, ran, runtime, wanted


def test_the_runtime_is_queried_before_the_first_decision():
    assert effects(decide(wanted())) == ["ReadRuntime"]


def test_a_pod_that_the_runtime_does_not_have_is_examined_once_a_round():
    state = RuntimeObserved(runtime(boxes=())).apply(wanted())
    step = decide(state)
    assert effects(step) == ["Admit"]
    assert effects(decide(step.state)) == []


def test_a_pod_without_a_source_ends():
    assert decide(PodRemoved().apply(wanted())).state.phase is PodWorkerPhase.TERMINATING


def test_a_pod_that_is_evicted_ends_with_the_reason_of_the_order():
    step = decide(KillOrdered(KillPod("u", "Evicted", "no memory", 1)).apply(wanted()))
    assert (step.state.phase, step.state.reason) == (PodWorkerPhase.TERMINATING, ("Evicted", "no memory"))


def test_a_pod_that_ran_to_its_end_before_ends():
    over = RuntimeObserved(runtime(ran(state=CriContainerState.EXITED))).apply(wanted(pod(restartPolicy="Never")))
    assert decide(over).state.phase is PodWorkerPhase.TERMINATING


def test_a_pod_with_containers_that_the_runtime_does_not_list_is_not_ended_as_one_that_lost_them():
    gone = RuntimeObserved(runtime()).apply(
        RuntimeObserved(runtime(ran(), at=0.5)).apply(wanted(pod(restartPolicy="Never")))
    )
    assert decide(gone).state.phase is PodWorkerPhase.TERMINATING
    assert effects(decide(UnlistedFound(UnlistedContainers(frozenset({"a-0"}))).apply(gone))) == ["Admit"]


def test_the_shutdown_manager_is_queried_first_on_a_node_with_shutdown_windows():
    over = RuntimeObserved(runtime(ran(state=CriContainerState.EXITED))).apply(wanted(pod(restartPolicy="Never")))
    step = decide(over, ends_pods=True)
    assert (effects(step), step.state.phase) == (["AskForKillOrder"], PodWorkerPhase.ADMITTING)
    assert decide(step.state, ends_pods=True).state.phase is PodWorkerPhase.TERMINATING


def test_a_pod_that_runs_when_its_worker_starts_is_admitted_again_and_keeps_running():
    state = RuntimeObserved(runtime(ran())).apply(wanted(pod(restartPolicy="Never")))
    assert effects(decide(state)) == ["Admit"]


def test_an_incomplete_status_admits_no_pod():
    state = Interrupted().apply(RuntimeObserved(runtime(boxes=())).apply(wanted()))
    assert effects(decide(state)) == ["ReadRuntime"]
