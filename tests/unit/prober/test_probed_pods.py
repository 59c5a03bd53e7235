"""Which probes a pod has, and what is known of each, through any order of messages."""

from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.prober.messages import ProbedContainer, ProbedPod
from actors.prober.outcome import error, failure, success
from actors.prober.probe_type import Key, Kind
from actors.prober.probed_pods import SYNC_SPREAD, PodProbes, must_notify, probed, replaced, updated
from actors.prober.thresholds import Streak
from actors.shared.kube.handlers import Probe

KINDS: tuple[Kind, ...] = ("startup", "liveness", "readiness")
EXEC = {"exec": {"command": ["x"]}}


def message(*kinds: Kind, id: str = "c1", running: bool = True, started: bool = False, **more) -> ProbedPod:
    timing = {"periodSeconds": more.pop("period", 10), "initialDelaySeconds": more.pop("delay", 0)}
    probes = {f"{kind}Probe": {**EXEC, **timing} for kind in kinds}
    spec = {"containers": [{"name": "a", "image": "i", **probes}]}
    pod = json.dumps({"metadata": {"uid": "u", "name": "p", "namespace": "n"}, "spec": spec}).encode()
    return ProbedPod("u", pod, [ProbedContainer("a", id, running, 1, started)], **more)


def key(kind: Kind) -> Key:
    return ("u", "a", kind)


def active(pod: PodProbes) -> set[str]:
    return {kind for _, _, kind in pod.probes if pod.active(key(kind))}


def test_liveness_and_readiness_wait_for_the_startup_probe():
    pod = updated(None, message(*KINDS), 0.0)
    assert active(pod) == {"startup"}
    assert active(probed(pod, key("startup"), success())) == {"liveness", "readiness"}
    assert active(updated(None, message(*KINDS, started=True), 0.0)) == {"liveness", "readiness"}


def test_a_container_that_does_not_run_is_not_probed():
    assert active(updated(None, message(*KINDS, running=False), 0.0)) == set()


def test_another_container_and_a_changed_probe_start_from_zero():
    failed = updated(None, message("liveness"), 0.0)
    for _ in range(3):
        failed = probed(failed, key("liveness"), failure("x"))
    assert active(failed) == set(), "it is to be killed"
    assert active(updated(failed, message("liveness"), 0.0)) == set()
    assert active(updated(failed, message("liveness", id="c2"), 0.0)) == {"liveness"}
    changed = updated(failed, message("liveness", period=5), 0.0)
    assert active(changed) == {"liveness"}
    assert list(replaced(failed, changed)) == [key("liveness")]


@pytest.mark.parametrize(
    ("kind", "known", "delay", "age", "wait"),
    [
        ("liveness", 0.0, 0, 0, 0.0),
        ("liveness", 3.0, 0, 0, 7.0),
        ("startup", 12.0, 0, 0, 8.0),
        ("startup", 20.0, 0, 0, 0.0),
        ("readiness", 3.0, 0, 0, 0.0),
        ("liveness", 3.0, 5, 0, 7.0),
        ("liveness", 3.0, 8, 0, 17.0),
        ("liveness", 13.0, 8, 6, 7.0),
        ("readiness", 3.0, 8, 6, 2.0),
    ],
)
def test_a_new_container_is_probed_first_at_the_next_tick_of_its_probe_and_readiness_at_once(
    kind, known, delay, age, wait
):
    """`known`: for how long the probe was; `age`: of the container; the period is 10 s."""
    told = message(kind, delay=delay)
    state = updated(None, told, 100.0).probes[key(kind)]
    assert state.first_delay(1 + age * 10**9, 100.0 + known, 60.0, 0.5) == pytest.approx(wait)


def test_a_container_that_comes_after_its_probe_waits_for_the_tick_after_that():
    known = updated(None, message("liveness", running=False), 100.0)
    state = updated(known, message("liveness"), 100.01).probes[key("liveness")]
    assert state.first_delay(1, 100.01, 60.0, 0.5) == pytest.approx(9.99)
    assert state.first_delay(1, 112.0, 60.0, 0.5) == pytest.approx(8.0)


@pytest.mark.parametrize(
    ("age", "uptime", "delay", "wait"),
    [
        (600, 1.0, 0, 2.5),
        (600, 9.9, 0, 2.5),
        (600, 10.0, 0, 0.0),
        (2, 1.0, 0, 0.0),
        (3, 1.0, 0, 2.5),
        (3, 1.0, 20, 17.0),
    ],
)
def test_a_container_from_before_a_restart_is_probed_at_some_time_of_the_first_period(age, uptime, delay, wait):
    """`uptime`: of the prober; the period is 10 s."""
    state = updated(None, message("readiness", delay=delay), 100.0).probes[key("readiness")]
    assert state.first_delay(1 + age * 10**9, 100.0, uptime, 0.25) == wait
    unknown = msgspec.structs.replace(state, facts=msgspec.structs.replace(state.facts, started_ns=0))
    assert unknown.first_delay(1 + age * 10**9, 100.0, uptime, 0.25) == max(0, delay - age)


def test_a_container_that_is_not_ready_is_probed_with_each_synchronization_of_its_pod():
    def waits(pod: PodProbes, kind: Kind, spread: float = 0.0) -> float:
        return pod.probes[key(kind)].next_delay(60.0, spread)

    pod = updated(None, message("liveness", "readiness", period=600), 0.0)
    assert (waits(pod, "liveness"), waits(pod, "readiness")) == (600, 60.0)
    assert waits(pod, "readiness", 0.5) == pytest.approx(60.0 * (1 + SYNC_SPREAD / 2))
    assert waits(probed(pod, key("readiness"), success()), "readiness") == 600
    assert waits(updated(None, message("readiness", period=10), 0.0), "readiness") == 10


def test_times_of_a_probe_are_a_second_at_least():
    """0 stands for the default in an object of the API, and is refused elsewhere."""
    state = updated(None, message("liveness", period=0), 0.0).probes[key("liveness")]
    assert state.period == 1
    assert msgspec.structs.replace(state, probe=Probe(timeoutSeconds=0)).timeout == 1
    assert msgspec.structs.replace(state, probe=Probe(timeoutSeconds=7)).timeout == 7


def test_an_unchanged_pod_is_not_decoded_again_and_a_container_without_a_report_does_not_run():
    before = updated(None, message("liveness"), 0.0)
    after = updated(before, msgspec.structs.replace(before.message, containers=[]), 0.0)
    assert after.pod is before.pod
    assert (active(before), active(after)) == ({"liveness"}, set())
    assert after.probes[key("liveness")].facts == ProbedContainer("a", "", False, 0)
    assert updated(before, message("liveness", "readiness"), 0.0).pod is not before.pod
    assert list(replaced(None, before)) == []
    assert before.field("a") == "spec.containers{a}"


@pytest.mark.parametrize(
    ("after", "told"),
    [(Streak(), False), (Streak(result=True), True), (Streak(on_hold=True), True), (Streak(count=3), False)],
)
def test_others_learn_of_a_result_and_of_the_end_of_a_probe(after, told):
    assert must_notify(Streak(), after) is told


def test_a_pod_being_deleted_keeps_its_readiness_probe_only():
    before = updated(None, message("liveness", "readiness"), 0.0)
    after = updated(before, message("liveness", "readiness", deleting=True), 0.0)
    assert (active(after), list(replaced(before, after))) == ({"readiness"}, [key("liveness")])


def test_the_sidecars_of_a_pod_being_deleted_keep_all_their_probes():
    def sidecar(**more) -> ProbedPod:
        told = message("liveness", "startup", started=True, **more)
        spec = {"initContainers": [{**json.loads(told.pod)["spec"]["containers"][0], "restartPolicy": "Always"}]}
        pod = json.dumps({"metadata": {"uid": "u", "name": "p", "namespace": "n"}, "spec": spec}).encode()
        return msgspec.structs.replace(told, pod=pod)

    before = updated(None, sidecar(), 0.0)
    after = updated(before, sidecar(deleting=True), 0.0)
    assert set(after.probes) == {key("liveness"), key("startup")}
    assert (active(after), list(replaced(before, after))) == ({"liveness"}, [])


def test_a_regular_container_with_a_restart_policy_of_its_own_is_no_sidecar_while_its_pod_is_deleted():
    def always(**more) -> ProbedPod:
        told = message("liveness", "readiness", **more)
        spec = {"containers": [{**json.loads(told.pod)["spec"]["containers"][0], "restartPolicy": "Always"}]}
        pod = json.dumps({"metadata": {"uid": "u", "name": "p", "namespace": "n"}, "spec": spec}).encode()
        return msgspec.structs.replace(told, pod=pod)

    before = updated(None, always(), 0.0)
    assert active(updated(before, always(deleting=True), 0.0)) == {"readiness"}


events = st.lists(
    st.one_of(
        st.builds(
            message, st.sampled_from(KINDS), id=st.sampled_from(["c1", "c2"]), running=st.booleans(),
            started=st.booleans(), deleting=st.booleans(), period=st.sampled_from([5, 10]),
        ),
        st.tuples(st.sampled_from(KINDS), st.sampled_from([success(), failure("x"), error("y")])),
    ),
    max_size=30,
)  # fmt: skip


@given(events)
def test_in_any_history_a_probe_runs_only_while_its_container_does_and_nothing_waits(history):
    pod = updated(None, message(*KINDS), 0.0)
    for event in history:
        before = pod
        if isinstance(event, ProbedPod):
            pod = updated(before, event, 0.0)
        elif key(event[0]) in before.probes:
            pod = probed(before, key(event[0]), event[1])
            old, new = before.probes[key(event[0])].streak, pod.probes[key(event[0])].streak
            assert must_notify(old, new) or new.result is old.result
        for each in pod.probes:
            state = pod.probes[each]
            assert not (pod.active(each) and (state.streak.on_hold or not state.facts.running))
        if "startup" in active(pod):
            assert active(pod) == {"startup"}
