"""What is done with a pod that ends: containers, then volumes, then its cgroup, then its last traces."""

from __future__ import annotations

from actors.pod_workers.pod.orders import PodRemoved
from actors.pod_workers.pod.phase_transitions import PodWorkerPhase
from actors.pod_workers.pod.results import Forgotten, Refused, Released, RuntimeObserved, TryFailed, Unmounted
from actors.shared.cri.model import CriContainerState
from tests.support.pod_states import (
    NOW,
    box,
    decide,
    effects,
    orphan,
    pod,
    ran,
    rested,
    running,
    runtime,
    terminating,
    wanted,
)  # fmt: skip

STOPPED = runtime(ran(state=CriContainerState.EXITED), boxes=(box(ready=False),), at=2.0)


def terminated():
    return decide(RuntimeObserved(STOPPED).apply(decide(terminating(running(pod(), ran()))).state)).state


def ended():
    return Released().apply(Unmounted().apply(terminated()))


def test_containers_and_sandboxes_are_stopped_and_read_again():
    assert effects(decide(terminating(running(pod(), ran())))) == ["ReadRuntime", "Count", "StopPod", "ReadRuntime"]


def test_containers_that_still_run_are_stopped_again_later():
    stopping = decide(terminating(running(pod(), ran()))).state
    step = decide(stopping)
    assert (effects(step), step.state.phase, step.state.due) == ([], PodWorkerPhase.TERMINATING, NOW + 1.0)
    assert effects(decide(rested(step.state))) == ["ReadRuntime", "Count", "StopPod", "ReadRuntime"]


def test_once_nothing_runs_the_volumes_are_removed_and_then_the_cgroup():
    state = terminated()
    assert state.phase is PodWorkerPhase.TERMINATED
    step = decide(state)
    assert effects(step) == ["ReleaseResources", "Unmount"]
    step = decide(Unmounted().apply(step.state))
    assert effects(step) == ["Publish", "Release"]
    assert Released().apply(step.state).phase is PodWorkerPhase.ENDED


def test_volumes_that_are_kept_are_unmounted_when_the_pod_is_withdrawn_before_its_traces_go():
    step = decide(terminated(), keeps_volumes=True)
    assert effects(step) == ["ReleaseResources"]
    step = decide(step.state, keeps_volumes=True)
    assert effects(step) == ["Publish", "Release"]
    kept = Released().apply(step.state)
    assert kept.phase is PodWorkerPhase.ENDED
    assert "Unmount" not in effects(decide(kept, keeps_volumes=True))
    step = decide(PodRemoved().apply(kept), keeps_volumes=True)
    assert effects(step) == ["Unmount"]
    assert effects(decide(step.state, keeps_volumes=True)) == [], "tried once a round"
    assert effects(decide(Unmounted().apply(step.state), keeps_volumes=True)) == ["RemoveTraces"]


def test_volumes_of_a_pod_that_ends_as_it_is_withdrawn_are_not_kept():
    withdrawn = PodRemoved().apply(terminated())
    assert effects(decide(withdrawn, keeps_volumes=True)) == ["ReleaseResources", "Unmount"]


def test_the_cgroup_stays_until_the_volumes_are_gone():
    step = decide(terminated())
    failed = TryFailed("volumes: busy", NOW).apply(step.state)
    assert effects(decide(failed)) == []
    assert effects(decide(rested(failed))) == ["ReleaseResources", "Unmount"]


def test_volumes_that_are_gone_are_not_unmounted_again():
    gone = Unmounted().apply(decide(terminated()).state)
    assert effects(decide(rested(gone))) == ["ReleaseResources"]


def test_dead_containers_stay_as_long_as_a_source_has_the_pod():
    assert effects(decide(ended())) == []
    removed = PodRemoved().apply(ended())
    step = decide(removed)
    assert effects(step) == ["RemoveTraces"]
    assert Forgotten().apply(step.state).phase is PodWorkerPhase.FINISHED


def test_a_container_that_appears_after_the_end_is_stopped():
    late = RuntimeObserved(runtime(ran(), at=3.0)).apply(ended())
    assert effects(decide(late)) == ["ReadRuntime", "StopPod", "ReadRuntime"]


def test_a_pod_that_only_the_runtime_has_ends_at_once():
    assert decide(orphan(ran())).state.phase is PodWorkerPhase.TERMINATING


def test_a_pod_that_was_refused_stays_until_no_source_has_it():
    refused = Refused("OutOfcpu", "too much").apply(RuntimeObserved(runtime(boxes=())).apply(wanted()))
    assert effects(decide(refused)) == []
    assert decide(refused).state.phase is PodWorkerPhase.REJECTED
    assert decide(PodRemoved().apply(refused)).state.phase is PodWorkerPhase.TERMINATING


def test_running_containers_of_a_rejected_pod_are_stopped():
    refused = Refused("SysctlForbidden", "no").apply(RuntimeObserved(runtime(ran())).apply(wanted()))
    assert decide(refused).state.phase is PodWorkerPhase.TERMINATING
