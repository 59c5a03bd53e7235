"""What a worker tells of its pod."""

from __future__ import annotations

import msgspec
import pytest

from actors.pod_workers.messages import KillPod
from actors.pod_workers.pod.observation import observed, probed, same, termination_step
from actors.pod_workers.pod.orders import KillOrdered
from actors.pod_workers.pod.phase_transitions import PodWorkerPhase
from actors.pod_workers.pod.results import UnlistedFound, Unprepared
from actors.pod_workers.pod.state import PodState, replace
from actors.pod_workers.pod.state_values import ContainerInstance
from actors.pod_workers.pod.unlisted_containers import UnlistedContainers
from actors.prober.messages import ProbedContainer
from actors.shared.cri.model import CriContainerState, Sandbox
from actors.shared.kube.container import Container
from actors.shared.kube.handlers import Probe
from actors.shared.kube.pod import Pod, PodSpec
from actors.status_manager.messages import Waiting
from tests.support.pod_states import box, orphan, pod, ran, running, runtime, wanted

P, EXITED = PodWorkerPhase, CriContainerState.EXITED
UNSEEN = UnlistedContainers(frozenset({"b-0"}))
SEEN = UnlistedContainers(frozenset({"b-0"}), (), (ran("b"),))


def test_a_container_that_the_runtime_does_not_list_is_reported_as_it_was_last_seen() -> None:
    state = running(pod("a", "b"), ran("a"))
    with_seen = observed(UnlistedFound(SEEN).apply(state)).runtime
    assert with_seen is not None
    assert {one.id for one in with_seen.containers} == {"a-0", "b-0"}
    assert observed(UnlistedFound(UNSEEN).apply(state)).runtime is None, "the last report stays valid"


@pytest.mark.parametrize("phase", [P.TERMINATED, P.ENDED, P.FINISHED])
def test_a_pod_that_is_over_is_reported_as_the_runtime_has_it(phase: PodWorkerPhase) -> None:
    state = replace(running(pod("a"), ran("a", EXITED)), phase=phase)
    for unlisted in (UNSEEN, SEEN):
        assert observed(UnlistedFound(unlisted).apply(state)).runtime == state.runtime


@pytest.mark.parametrize(
    ("phase", "told", "gone", "finished"),
    [
        (P.ADMITTING, "admitting", False, False),
        (P.RUNNING, "running", False, False),
        (P.TERMINATING, "terminating", False, False),
        (P.TERMINATED, "terminated", False, False),
        (P.ENDED, "terminated", False, True),
        (P.FINISHED, "terminated", True, True),
        (P.REJECTED, "rejected", False, False),
    ],
)
def test_the_phase_is_told_and_whether_the_pod_may_be_forgotten(
    phase: PodWorkerPhase, told: str, gone: bool, finished: bool
) -> None:
    found = observed(replace(running(pod(), ran()), phase=phase))
    assert (found.worker_phase, found.gone, found.finished) == (told, gone, finished)


def test_a_rejected_pod_has_nothing_in_the_runtime_unless_it_has_containers() -> None:
    never = replace(running(pod(), boxes=()), phase=P.REJECTED)
    assert (observed(never).runtime, observed(never).sandbox_ready) == (None, False)
    ran_before = replace(running(pod(), ran(state=EXITED)), phase=P.REJECTED)
    assert observed(ran_before).runtime == ran_before.runtime


@pytest.mark.parametrize(
    ("boxes", "ready"),
    [((box(),), True), ((box(ready=False),), False), ((box(1, ready=False), box()), False), ((), False)],
)
def test_the_newest_sandbox_is_the_one_that_is_ready(boxes: tuple[Sandbox, ...], ready: bool) -> None:
    assert observed(running(pod(), boxes=boxes)).sandbox_ready is ready
    assert not observed(wanted()).sandbox_ready


def test_a_container_that_is_stopped_for_a_restart_waits_and_has_not_ended() -> None:
    state = replace(
        running(pod("a", "b"), ran("a", EXITED), ran("b")),
        instances=dict.fromkeys(("a-0", "b-0"), ContainerInstance(restarting=True)),
    )
    assert observed(state).waiting == {"a": Waiting("ContainerCreating")}
    later = replace(
        running(pod("a"), ran("a", EXITED, count=1), ran("a", EXITED)),
        instances=dict.fromkeys(("a-0",), ContainerInstance(restarting=True)),
    )
    assert observed(later).waiting == {}, "there has been a later instance"
    assert (
        observed(replace(wanted(), instances=dict.fromkeys(("a-0",), ContainerInstance(restarting=True)))).waiting == {}
    )


def test_the_disruption_is_that_of_the_order_that_ends_the_pod() -> None:
    ordered = KillOrdered(KillPod("u", "Evicted", "no memory", 1, "by the node")).apply(running(pod(), ran()))
    assert observed(ordered).disruption == "", "it has not begun to end"
    ending = replace(ordered, reason=("Evicted", "no memory"))
    assert observed(ending).disruption == "by the node"
    assert observed(replace(ordered, reason=("DeadlineExceeded", "too long"))).disruption == ""


def test_the_step_that_a_termination_waits_for_is_told() -> None:
    def ends(state: PodState) -> str:
        return termination_step(replace(state, phase=P.TERMINATING))

    claims = pod("a", resourceClaims=msgspec.Raw(b'[{"name": "gpu", "resourceClaimName": "gpu"}]'))
    over = running(claims, ran(state=EXITED), boxes=(box(ready=False),))
    assert ends(running(pod(), ran())) == "containers"
    assert ends(running(pod(), ran(state=EXITED))) == "sandbox"
    assert (ends(over), ends(Unprepared().apply(over))) == ("claims", "claims")
    assert ends(running(pod(), ran(state=EXITED), boxes=(box(ready=False),))) == "sandbox"
    assert ends(orphan(ran())) == "containers"
    unknown = ran(state=CriContainerState.UNKNOWN)
    assert ends(running(pod(), unknown, boxes=(box(ready=False),))) == "containers"
    stopped = replace(
        running(pod(), unknown, boxes=(box(ready=False),)), instances={unknown.id: ContainerInstance(stopped=True)}
    )
    assert ends(stopped) == "sandbox"
    assert termination_step(running(pod(), ran())) == ""


def test_a_terminated_pod_waits_for_its_volumes_and_then_its_cgroup() -> None:
    state = replace(running(pod(), ran(state=EXITED)), phase=P.TERMINATED)
    unmounted = replace(state, acquired=msgspec.structs.replace(state.acquired, unmounted=True))
    assert (termination_step(state), termination_step(unmounted)) == ("volumes", "cgroup")


def test_observations_that_differ_in_their_times_only_are_the_same() -> None:
    one = observed(running(pod(), ran()))
    later = msgspec.structs.replace(one, runtime=runtime(ran(), at=9.0))
    assert same(one, later)
    assert not same(one, msgspec.structs.replace(later, reason="Evicted"))
    assert not same(one, msgspec.structs.replace(later, runtime=runtime(ran(state=EXITED), at=9.0)))
    assert not same(None, one)
    assert not same(one, msgspec.structs.replace(one, runtime=None))


def probe_of(*names: str) -> Pod:
    """With a probe of each kind in turn."""
    kinds = ("readinessProbe", "livenessProbe", "startupProbe")
    containers = [
        msgspec.structs.replace(Container(name=name, image="i"), **{kind: Probe()})
        for name, kind in zip(names, kinds, strict=False)
    ]
    return Pod(spec=PodSpec(containers=[*containers, Container(name="plain", image="i")]))


@pytest.mark.parametrize("names", [("a",), ("x", "a"), ("x", "y", "a")])
def test_a_pod_with_a_probe_of_any_kind_is_told_to_the_prober_with_its_containers(names: tuple[str, ...]) -> None:
    state = running(probe_of(*names), ran("a", count=2), ran("a", EXITED, count=1), ran("plain", EXITED))
    passed = replace(state, instances={"a-2": ContainerInstance(startup_passed=True)})
    found = probed(passed)
    assert found is not None
    begun = ran().started_ns
    assert found.containers == [
        ProbedContainer("a", "a-2", True, begun, True), ProbedContainer("plain", "plain-0", False, begun, False),
    ]  # fmt: skip
    assert (found.uid, found.pod, found.deleting, found.gone) == ("u", state.wanted.data, False, False)


def test_what_the_prober_cannot_probe_is_not_told() -> None:
    assert probed(orphan(ran())) is None
    assert probed(running(pod("a"), ran())) is None, "it has no probe"
    state = running(probe_of("a"), ran())
    assert probed(UnlistedFound(UNSEEN).apply(state)) is None, "not all that runs is known"
    not_seen = probed(wanted(probe_of("a")))
    assert not_seen is not None
    assert not_seen.containers == []


@pytest.mark.parametrize(
    ("phase", "deleting", "gone"),
    [(P.RUNNING, False, False), (P.TERMINATING, True, False), (P.TERMINATED, False, True), (P.FINISHED, False, True)],
)
def test_the_prober_learns_that_a_pod_ends_and_has_ended(phase: PodWorkerPhase, deleting: bool, gone: bool) -> None:
    state = running(probe_of("a"), ran())
    found = probed(replace(state, phase=phase))
    assert found is not None
    assert (found.deleting, found.gone, found.pod) == (deleting, gone, b"" if gone else state.wanted.data)
