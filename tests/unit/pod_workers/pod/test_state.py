"""What a pod's state says of itself, and how it changes."""

from __future__ import annotations

from actors.pod_workers.pod.lost_container import LostContainer
from actors.pod_workers.pod.orders import RuntimeChanged
from actors.pod_workers.pod.resizes import DEFERRED_SECONDS, ResizePending, ResizeRetried
from actors.pod_workers.pod.results import RuntimeObserved
from actors.pod_workers.pod.starts import ImagePulled, StartUnderWay
from actors.pod_workers.pod.state import PodState, replace
from actors.shared.cri.model import CriContainerState
from tests.support.pod_states import NOW, box, orphan, pod, ran, running, runtime, wanted


def test_a_pod_is_named_by_its_object_or_by_the_runtime_or_by_its_uid() -> None:
    assert wanted().label == orphan(ran()).label == "d/p (u)"
    assert PodState(uid="u").label == "u"


def test_the_network_of_a_pod_is_that_of_its_spec_and_of_an_orphan_that_of_its_newest_sandbox() -> None:
    older = replace(box(), host_network=True)
    for host_network in (True, False):
        newest = replace(box(1), host_network=host_network)
        assert running(pod(hostNetwork=host_network), boxes=(older,)).on_host_network is host_network
        known = runtime(boxes=(newest, older))
        assert RuntimeObserved(known).apply(PodState(uid="u")).on_host_network is host_network
    assert not PodState(uid="u").on_host_network


def test_the_earliest_of_several_times_is_when_the_next_round_is_due() -> None:
    state = wanted().due_by(5.0)
    assert [state.due_by(when).due for when in (None, 4.0, 5.0, 6.0)] == [5.0, 4.0, 5.0, 5.0]
    assert wanted().due_by(None).due is None


def test_a_start_may_be_under_way_for_so_long_since_it_was_first_seen() -> None:
    state = StartUnderWay("a", "a-0", NOW).apply(running(pod()))
    later = StartUnderWay("a", "a-0", NOW + 5).apply(state)
    assert [later.may_be_under_way("a", NOW + after, 10.0) for after in (0, 9.9, 10.0)] == [True, True, False]
    assert not later.may_be_under_way("a", NOW - 1, 10.0), "the clock was set back"
    assert later.may_be_under_way("b", NOW + 100, 10.0), "it is not known of"
    assert later.instances["a-0"].post_start_due
    assert StartUnderWay("a", "", NOW).apply(running(pod())).instances == {}


def test_what_is_as_at_the_beginning_is_not_kept() -> None:
    state = wanted().with_attempts(["a"], lost=LostContainer("s0")).with_instances(["a-0"], stopped=True)
    assert (state.lost, state.stopped) == ({"a": LostContainer("s0")}, frozenset({"a-0"}))
    state = state.with_attempts(["a", "b"], lost=None).with_instances(["a-0", "b-0"], stopped=False)
    assert (state.attempts, state.instances) == ({}, {})


def test_pulls_are_added_up() -> None:
    state = ImagePulled(2.0, 3.0).apply(ImagePulled(1.0, 2.0).apply(wanted()))
    assert state.pulls == ((1.0, 2.0), (2.0, 3.0))


def test_an_older_report_of_the_runtime_changes_nothing() -> None:
    state = RuntimeChanged(runtime(ran(), at=5.0)).apply(wanted())
    ended = ran(state=CriContainerState.EXITED)
    for at, taken in ((4.0, False), (5.0, False), (5.1, True)):
        assert (RuntimeChanged(runtime(ended, at=at)).apply(state) != state) is taken


def test_a_deferred_resize_is_asked_for_again_and_an_infeasible_one_only_when_it_may_fit() -> None:
    state = running(pod())
    state = replace(state, resizing=replace(state.resizing, desired=pod()))
    deferred = ResizePending("Deferred", "m", 3, NOW).apply(state)
    assert (deferred.resizing.not_before, deferred.resizing.deferred_at) == (NOW + DEFERRED_SECONDS, NOW)
    again = ResizePending("Deferred", "m", 3, NOW + 60).apply(deferred)
    assert again.resizing.deferred_at == NOW, "since it was first deferred"
    infeasible = ResizePending("Infeasible", "m", 4, NOW).apply(deferred)
    assert (infeasible.resizing.not_before, infeasible.resizing.deferred_at) == (float("inf"), 0.0)
    assert (infeasible.resizing.pending, infeasible.resizing.pending_generation) == (("Infeasible", "m"), 4)
    assert ResizeRetried().apply(infeasible).resizing.not_before == 0.0
    assert ResizeRetried().apply(running(pod())) == running(pod())
