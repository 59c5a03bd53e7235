"""What is done with a pod that runs."""

from __future__ import annotations

import msgspec
import pytest

from actors.pod_workers.phases.effects import Announce, CollectGarbage, StartContainers
from actors.pod_workers.phases.running import CRASH_LOOP, NETWORK_SECONDS
from actors.pod_workers.pod.orders import ProbeDecided
from actors.pod_workers.pod.phase_transitions import PodWorkerPhase
from actors.pod_workers.pod.results import (
    ClockWasSet,
    RoundStarted,
    RuntimeModified,
    RuntimeObserved,
    TryFailed,
    UnlistedFound,
)
from actors.pod_workers.pod.starts import ContainerFailed, ContainerStarted, PostStartStarted, SandboxFailed
from actors.pod_workers.pod.state import SANDBOX, PodState, replace
from actors.pod_workers.pod.state_values import PodView
from actors.pod_workers.pod.unlisted_containers import UnlistedContainers
from actors.shared.cri.model import CriContainer, CriContainerState
from actors.shared.kube.container import Container
from tests.support.pod_states import NOW, box, decide, effects, pod, ran, rested, running, runtime

EXITED = CriContainerState.EXITED


def failed(name: str = "a", retry: float = 0.0) -> ContainerFailed:
    return ContainerFailed(name, "CreateContainerError", "no disk", retry, "", NOW)


def state_runs(state: PodState) -> list[CriContainer]:
    assert state.runtime is not None
    return list(state.runtime.containers)


def test_a_pod_in_its_desired_state_needs_nothing():
    step = decide(running(pod(), ran()))
    assert (effects(step), step.state.phase, step.state.due) == ([], PodWorkerPhase.RUNNING, None)


def test_a_pod_without_a_sandbox_gets_one_with_its_containers():
    step = decide(running(pod("a", "b"), boxes=()))
    assert effects(step) == ["StartContainers"]
    (effect,) = step.effects
    assert isinstance(effect, StartContainers)
    assert effect.create_sandbox
    assert [start.container.name for start in effect.start] == ["a", "b"]


def test_a_change_in_the_runtime_causes_a_status_call_before_any_decision():
    step = decide(RuntimeModified().apply(decide(running(pod(), boxes=())).state))
    assert effects(step) == ["ReadRuntimeAgain", "Publish"]
    assert effects(decide(RuntimeObserved(runtime(ran(), at=2.0)).apply(step.state))) == []


def test_an_incomplete_status_decides_nothing():
    step = decide(TryFailed("no answer", NOW, stale=True).apply(running(pod(), boxes=())))
    assert effects(step) == ["ReadRuntime"]
    assert effects(decide(RuntimeObserved(runtime(boxes=(), at=2.0)).apply(step.state), now=NOW + 60.0)) == [
        "StartContainers"
    ]


def test_a_look_that_becomes_incomplete_in_the_middle_of_a_round_does_not_start_it_again():
    state = replace(decide(running(pod(), ran())).state, view=PodView(runtime=runtime(ran())))
    assert state.view.stale
    assert effects(decide(state)) == []
    assert effects(decide(rested(state))) == ["ReadRuntime"]


def test_a_failed_start_is_not_retried_before_its_backoff_ends():
    state = rested(failed().apply(decide(running(pod())).state))
    state = RuntimeObserved(runtime(at=2.0)).apply(state)
    waits = decide(state)
    assert (effects(waits), waits.state.due) == ([], NOW + 1.0)
    assert effects(decide(rested(state), now=NOW + 1.0)) == ["StartContainers"]


def test_a_sandbox_that_failed_has_a_backoff_of_its_own():
    state = SandboxFailed("no network", NOW).apply(decide(running(pod(), boxes=())).state)
    assert state.attempts[SANDBOX].not_before == NOW + 1.0
    state = RuntimeObserved(runtime(boxes=(), at=2.0)).apply(rested(state))
    assert effects(decide(state)) == []


def test_an_unreachable_runtime_is_tried_again_at_the_latest_a_second_after_it_is_back():
    """Its return wakes the worker, and no backoff of the outage delays that round."""
    state = decide(running(pod(), boxes=())).state
    for _ in range(5):
        state = SandboxFailed("cannot be reached", NOW, unreachable=True).apply(rested(state))
    assert (state.attempts[SANDBOX].not_before, state.due) == (NOW + 1.0, NOW + 10.0)
    container = ContainerFailed("a", "RunContainerError", "cannot be reached", 0.0, "c1", NOW, unreachable=True)
    state = container.apply(state)
    assert (state.attempts["a"].not_before, state.is_start_interrupted("c1")) == (NOW + 1.0, True)


@pytest.mark.parametrize("jump", [-7200.0, -60.0, 60.0, 7200.0])
def test_a_backoff_lasts_as_long_when_the_clock_is_set(jump):
    state = RuntimeObserved(runtime(at=2.0)).apply(rested(failed(retry=5.0).apply(decide(running(pod())).state)))
    state = ClockWasSet(jump).apply(state)
    assert effects(decide(state, now=NOW + 4.0 + jump)) == []
    assert effects(decide(state, now=NOW + 6.0 + jump)) == ["StartContainers"]


def test_a_container_in_a_crash_loop_is_announced_once_and_waits():
    state = running(pod(), ran(state=EXITED, count=3, exit_code=1))
    step = decide(state)
    assert effects(step) == ["Announce"]
    assert step.state.waiting["a"].reason == CRASH_LOOP
    assert step.state.due == NOW - 5 + 40
    assert effects(decide(rested(step.state))) == []


def test_a_crash_loop_is_announced_each_ten_seconds_however_often_its_pod_worker_wakes():
    state, announced = running(pod(), ran(state=EXITED, count=3, exit_code=1)), list[float]()
    for tenths in range(350):
        step = decide(
            RuntimeObserved(runtime(*state_runs(state), at=2.0 + tenths)).apply(rested(state)), now=NOW + tenths / 10
        )
        announced += [tenths / 10] if "Announce" in effects(step) else []
        state = step.state
    assert announced == [0.0, 10.0, 20.0, 30.0]
    earlier = decide(RuntimeObserved(runtime(*state_runs(state), at=999.0)).apply(rested(state)), now=NOW - 5)
    assert effects(earlier) == ["Announce"], "the clock was set back"


def test_a_container_that_runs_waits_for_nothing():
    state = failed().apply(running(pod()))
    assert RuntimeObserved(runtime(ran(), at=2.0)).apply(state).waiting == {}


def test_an_unhealthy_container_is_stopped_and_marked_for_a_restart():
    step = decide(ProbeDecided("a-0", "liveness", False).apply(running(pod(), ran())))
    assert effects(step) == ["StopContainers"]
    assert step.state.restarting == {"a-0"}


def test_a_probe_that_passes_again_withdraws_the_restart_of_a_container_that_still_runs():
    stopping = decide(ProbeDecided("a-0", "liveness", False).apply(running(pod(), ran()))).state
    healthy = ProbeDecided("a-0", "liveness", True).apply(rested(stopping))
    assert decide(healthy).state.restarting == frozenset()


def test_a_sandbox_waits_for_the_network_and_has_an_event_with_each_wake():
    facts = {"network_ready": False, "network_message": "no CNI"}
    step = decide(running(pod(), boxes=()), **facts)
    assert (effects(step), step.state.due) == (["Announce"], NOW + NETWORK_SECONDS)
    assert step.state.waiting["a"].message == "network is not ready: container runtime network not ready: no CNI"
    assert effects(decide(rested(step.state).undone(), **facts)) == []
    assert effects(decide(RoundStarted().apply(step.state), **facts)) == ["Announce"]


def test_a_sandbox_that_changed_is_not_stopped_before_the_network_is_ready():
    changed = running(pod(), ran(), boxes=(box(ready=False),))
    facts = {"network_ready": False, "network_message": "no CNI"}
    waits = decide(changed, **facts)
    assert effects(waits) == ["Announce"]
    (told,) = waits.effects
    assert isinstance(told, Announce)
    assert told.reason == "NetworkNotReady"
    assert effects(decide(rested(waits.state), **facts)) == []
    assert effects(decide(rested(waits.state))) == ["Announce", "StopPod", "StartContainers"]


def test_a_sandbox_waits_silently_until_the_runtime_has_answered():
    step = decide(running(pod(), boxes=()), network_ready=False)
    assert (effects(step), step.state.due, step.state.waiting) == ([], NOW + NETWORK_SECONDS, {})


def test_a_pod_on_the_network_of_the_host_does_not_wait_for_it():
    assert effects(decide(running(pod(hostNetwork=True), boxes=()), network_ready=False)) == ["StartContainers"]


def test_a_hook_that_broke_off_is_run_once_its_container_runs():
    state = PostStartStarted("a-0").apply(running(pod(), ran()))
    assert effects(decide(state)) == ["RunPostStart"]


def test_dead_containers_are_collected_at_the_end_of_a_round():
    step = decide(running(pod(), ran(count=2), ran(state=EXITED, count=1), ran(state=EXITED)))
    assert effects(step) == ["CollectGarbage"]
    (effect,) = step.effects
    assert isinstance(effect, CollectGarbage)
    assert [one.id for one in effect.containers] == ["a-0"]
    assert effects(decide(step.state)) == []


def test_a_pod_ends_when_all_containers_have_finally_ended():
    step = decide(running(pod(restartPolicy="Never"), ran(state=EXITED)))
    assert step.state.phase is PodWorkerPhase.TERMINATING


def test_a_sandbox_that_changed_is_replaced_with_all_its_containers():
    step = decide(running(pod(), ran(), boxes=(box(ready=False),)))
    assert effects(step) == ["Announce", "StopPod", "StartContainers"]


def test_a_started_container_no_longer_has_an_attempt():
    state = running(pod()).with_attempts(["a"], consecutive_restarts=4)
    assert ContainerStarted("a", "x", "s0").apply(state).attempts == {}


def test_an_ephemeral_container_starts_beside_the_others():
    wanted = pod(ephemeralContainers=[Container(name="e")])
    step = decide(running(wanted, ran()))
    effect = step.effects[0]
    assert isinstance(effect, StartContainers)
    assert [start.container.name for start in effect.start] == ["e"]


def test_the_end_of_a_container_is_told_before_the_next_start():
    ended = running(pod(), ran(state=EXITED, exit_code=1))
    assert effects(decide(ended)) == ["Publish", "StartContainers"]


def test_an_end_that_the_crash_loop_has_shown_is_not_told_again_when_the_backoff_is_over():
    waits = decide(running(pod(), ran(state=EXITED, count=3, exit_code=1)))
    assert "a" in waits.state.waiting
    assert effects(decide(rested(waits.state), now=NOW + 3600.0)) == ["StartContainers"]


def test_a_pod_with_a_container_that_the_runtime_does_not_list_waits_and_is_not_resized():
    state = running(pod(), ran())
    resized = replace(state, resizing=msgspec.structs.replace(state.resizing, desired=pod(), in_progress=True))
    assert effects(decide(resized)) == ["AllocateResize"]
    assert effects(decide(decide(resized).state)) == ["ActuateResize"]
    assert effects(decide(decide(decide(resized).state).state)) == []
    hidden = UnlistedFound(UnlistedContainers(frozenset({"b-0"})))
    assert effects(decide(hidden.apply(resized))) == ["AwaitListed"]


def test_a_resize_waits_for_its_time_before_it_is_allocated_or_tried_again():
    state = running(pod(), ran())
    waits = msgspec.structs.replace(state.resizing, desired=pod(), not_before=NOW + 9, deferred_at=NOW)
    step = decide(replace(state, resizing=waits))
    assert (effects(step), step.state.due) == ([], NOW + 9)
    failed_before = msgspec.structs.replace(state.resizing, in_progress=True, retry_at=NOW + 7)
    step = decide(replace(state, resizing=failed_before))
    assert (effects(step), step.state.due) == ([], NOW + 7)
