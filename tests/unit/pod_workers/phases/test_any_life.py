"""Whatever happens to a pod: each decision follows the table, and a round comes to its end."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from actors.pod_workers.messages import KillPod
from actors.pod_workers.phases.effects import (
    Admit,
    ReadRuntime,
    ReadRuntimeAgain,
    Release,
    RemoveTraces,
    StartContainers,
    Unmount,
)
from actors.pod_workers.pod.orders import KillOrdered, PodRemoved, PodWanted, ProbeDecided, RuntimeChanged
from actors.pod_workers.pod.phase_transitions import TRANSITIONS, PodWorkerPhase
from actors.pod_workers.pod.results import (
    Admitted,
    Forgotten,
    Interrupted,
    Refused,
    Released,
    RoundStarted,
    RuntimeObserved,
    TryFailed,
    Unmounted,
)  # fmt: skip
from actors.pod_workers.pod.starts import ContainerFailed, SandboxFailed
from actors.shared.cri.model import CriContainerState
from actors.shared.kube.codec import encode
from tests.support.pod_states import NOW, box, decide, pod, ran, runtime, wanted

MOST_STEPS = 25
POD = pod("a", "b")
BOXES = st.sampled_from([(), (box(),), (box(ready=False),), (box(1), box())])
CONTAINERS = st.lists(
    st.builds(
        ran, st.sampled_from(["a", "b"]), st.sampled_from(CriContainerState), st.integers(0, 3), st.integers(0, 1)
    ),
    max_size=4,
    unique_by=lambda one: one.id,
)
SEEN = st.builds(
    lambda containers, boxes, at: runtime(*containers, boxes=boxes, at=at), CONTAINERS, BOXES, st.floats(1, 9)
)
OUTSIDE = st.one_of(
    st.just(PodRemoved()),
    st.just(PodWanted(POD, encode(POD))),
    st.builds(lambda grace: KillOrdered(KillPod("u", "Evicted", "x", grace)), st.integers(0, 60)),
    st.builds(ProbeDecided, st.sampled_from(["a-0", "b-1"]), st.sampled_from(["liveness", "startup"]), st.booleans()),
    st.builds(RuntimeChanged, SEEN),
)
FAILED = st.just(TryFailed("away", NOW, stale=True))
OUTCOMES = {
    ReadRuntime: st.builds(RuntimeObserved, SEEN),
    ReadRuntimeAgain: st.builds(RuntimeObserved, SEEN),
    Admit: st.one_of(st.just(Admitted("/c", {})), st.just(Refused("OutOfcpu", "x")), FAILED),
    StartContainers: st.one_of(
        st.just(ContainerFailed("a", "ErrImagePull", "x", 5.0, "", NOW)), st.just(SandboxFailed("x", NOW)), FAILED
    ),
    Unmount: st.one_of(st.just(Unmounted()), FAILED),
    Release: st.one_of(st.just(Released()), FAILED),
    RemoveTraces: st.one_of(st.just(Forgotten()), st.just(Interrupted()), FAILED),
}


@given(st.data(), st.lists(st.lists(OUTSIDE, max_size=3), min_size=1, max_size=6))
def test_every_round_ends_and_every_phase_follows_the_table(data, rounds):
    state, facts = wanted(POD), {"network_ready": data.draw(st.booleans())}
    for happens in rounds:
        for event in happens:
            state = event.apply(state)
        state = RoundStarted().apply(state)
        for _ in range(MOST_STEPS):
            if state.phase is PodWorkerPhase.FINISHED:
                break
            step = decide(state, **facts)
            assert step.state.phase in {state.phase, *TRANSITIONS[state.phase].values()}
            over = step.state.phase is state.phase and not step.effects
            state = step.state
            for effect in step.effects:
                if type(effect) in OUTCOMES and state.phase is step.state.phase:
                    state = data.draw(OUTCOMES[type(effect)]).apply(state)
            if over:
                break
        else:
            raise AssertionError("the round does not end")
