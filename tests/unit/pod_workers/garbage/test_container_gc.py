"""Which remains go."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.pod_workers.garbage.container_gc import (
    ContainerGcPolicy,
    dead_containers,
    dead_sandboxes,
    policy_of,
    surplus,
)
from actors.shared.cri.model import CriContainer, CriContainerState, PodRuntime, Sandbox

S = CriContainerState
NOW = 1000.0


def box(id: str, ready: bool = False) -> Sandbox:
    return Sandbox(id=id, pod_uid="u", pod_name="p", pod_namespace="d", ready=ready)


def ran(id: str, state: CriContainerState = S.EXITED, sandbox: str = "", at: int = 0, uid: str = "u") -> CriContainer:
    made = at * 10**9
    return CriContainer(id=id, name=id[0], pod_uid=uid, state=state, sandbox_id=sandbox, created_ns=made)


def test_the_newest_dead_one_of_each_name_stays():
    runtime = PodRuntime(uid="u", containers=[ran("a3", S.RUNNING), ran("a2"), ran("b2"), ran("a1"), ran("b1")])
    assert [one.id for one in dead_containers(runtime, ContainerGcPolicy(1), NOW)] == ["a1", "b1"]
    assert dead_containers(runtime, ContainerGcPolicy(2), NOW) == []
    assert dead_containers(runtime, ContainerGcPolicy(-1), NOW) == []


def test_without_a_minimum_age_the_clock_does_not_count():
    later = PodRuntime(uid="u", containers=[ran("a2", at=int(NOW) + 60), ran("a1", at=int(NOW) + 50)])
    assert [one.id for one in dead_containers(later, ContainerGcPolicy(1), NOW)] == ["a1"]


@given(st.lists(st.tuples(st.sampled_from(["a", "b"]), st.sampled_from(S))), st.integers(1, 3))
def test_no_container_that_may_run_is_removed_and_the_configured_number_stays(history, keep):
    runtime = PodRuntime(uid="u", containers=[ran(f"{name}{n}", state) for n, (name, state) in enumerate(history)])
    going = dead_containers(runtime, ContainerGcPolicy(keep), NOW)
    assert all(one.state is S.EXITED for one in going)
    for name in "ab":
        dead = [one for one in runtime.containers if one.name == name and one.state is S.EXITED]
        assert [one for one in dead if one not in going] == dead[:keep]


def test_a_sandbox_is_removed_when_it_is_dead_empty_and_not_the_newest():
    boxes = [box("s4"), box("s3"), box("s2"), box("s1", ready=True)]
    runtime = PodRuntime(uid="u", sandboxes=boxes, containers=[ran("a", sandbox="s2")])
    assert [one.id for one in dead_sandboxes(runtime, keep_newest=True)] == ["s3"]
    assert [one.id for one in dead_sandboxes(runtime, keep_newest=False)] == ["s4", "s3"]


@pytest.mark.parametrize(("flag", "expected"), [(1, 1), (0, 1), (4, 4), (-1, -1)])
def test_the_flag_sets_the_number_and_the_last_one_always_stays(flag, expected):
    assert policy_of({"maximum-dead-containers-per-container": flag}).of_each == expected
    assert policy_of({}) == ContainerGcPolicy(1, -1, 0.0)
    others = {"maximum-dead-containers": 7, "minimum-container-ttl-duration": 60.0}
    assert policy_of(others) == ContainerGcPolicy(1, 7, 60.0)


def test_a_young_dead_container_stays_for_its_minimum_age_and_counts_for_no_limit():
    runtime = PodRuntime(uid="u", containers=[ran("a3", at=999), ran("a2", at=980), ran("a1", at=940)])
    assert dead_containers(runtime, ContainerGcPolicy(1, min_age=60.0), NOW) == []
    assert [one.id for one in dead_containers(runtime, ContainerGcPolicy(1, min_age=20.0), NOW)] == ["a1"]
    assert [one.id for one in dead_containers(runtime, ContainerGcPolicy(1, min_age=1.0), NOW)] == ["a2", "a1"]


def histories(*lengths: int) -> list[PodRuntime]:
    """Pods a, b, ... whose container died so often, in turn; the newest of all is that of the last pod."""
    return [
        PodRuntime(
            uid=chr(97 + pod),
            containers=[
                ran(f"{chr(97 + pod)}{number}", at=number * 10 + pod, uid=chr(97 + pod))
                for number in range(length, 0, -1)
            ],
        )
        for pod, length in enumerate(lengths)
    ]


@pytest.mark.parametrize(
    ("lengths", "most", "going"),
    [
        ((3, 3), 6, []),
        ((3, 3), -1, []),
        ((5, 1), 4, ["a3", "a2", "a1"]),  # its share is two
        ((3, 3), 5, ["a1", "b1"]),  # the share is two of each, as in the kubelet
        ((2, 2), 2, ["a1", "b1"]),
        ((2, 2), 0, ["a1", "b1"]),  # the newest of each stays
    ],
)
def test_the_node_is_held_to_its_bound_each_container_keeping_its_share(lengths, most, going):
    assert [one.id for one in surplus(histories(*lengths), ContainerGcPolicy(-1, most), NOW)] == going


def test_the_nodes_bound_neither_removes_nor_counts_a_container_before_its_minimum_age():
    assert [one.id for one in surplus(histories(4), ContainerGcPolicy(-1, 1, min_age=NOW - 25), NOW)] == ["a1"]
    assert surplus(histories(4), ContainerGcPolicy(-1, 2, min_age=NOW - 25), NOW) == []


def test_the_nodes_bound_removes_the_oldest_first():
    pods = [
        PodRuntime(uid=name, containers=[ran(f"{name}{n}", state, at=n * 10 - later, uid=name) for n, state in history])
        for name, later in (("a", 0), ("b", 1))
        for history in [((3, S.RUNNING), (2, S.EXITED), (1, S.EXITED))]
    ]
    assert [one.id for one in surplus(pods, ContainerGcPolicy(-1, 1), NOW)] == ["a1", "b1", "b2"]


def test_a_running_instance_counts_as_the_newest():
    runtime = PodRuntime(uid="u", containers=[ran("a3", S.RUNNING, at=3), ran("a2", at=2), ran("a1", at=1)])
    assert [one.id for one in surplus([runtime], ContainerGcPolicy(-1, 0), NOW)] == ["a1", "a2"]
