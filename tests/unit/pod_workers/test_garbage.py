"""Which remains go."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.cri.model import Container, ContainerState, PodRuntime, Sandbox
from actors.pod_workers.garbage import dead_containers, dead_sandboxes, kept

S = ContainerState


def box(id: str, ready: bool = False) -> Sandbox:
    return Sandbox(id=id, pod_uid="u", pod_name="p", pod_namespace="d", ready=ready)


def ran(id: str, state: ContainerState = S.EXITED, sandbox: str = "") -> Container:
    return Container(id=id, name=id[0], pod_uid="u", state=state, sandbox_id=sandbox)


def test_the_newest_dead_one_of_each_name_stays():
    runtime = PodRuntime(uid="u", containers=[ran("a3", S.RUNNING), ran("a2"), ran("b2"), ran("a1"), ran("b1")])
    assert [one.id for one in dead_containers(runtime, 1)] == ["a1", "b1"]
    assert dead_containers(runtime, 2) == []
    assert dead_containers(runtime, -1) == []


@given(st.lists(st.tuples(st.sampled_from(["a", "b"]), st.sampled_from(S))), st.integers(1, 3))
def test_nothing_that_may_live_goes_and_so_many_stay(history, keep):
    runtime = PodRuntime(uid="u", containers=[ran(f"{name}{n}", state) for n, (name, state) in enumerate(history)])
    going = dead_containers(runtime, keep)
    assert all(one.state is S.EXITED for one in going)
    for name in "ab":
        dead = [one for one in runtime.containers if one.name == name and one.state is S.EXITED]
        assert [one for one in dead if one not in going] == dead[:keep]


def test_a_sandbox_goes_when_it_is_dead_empty_and_not_the_newest():
    boxes = [box("s4"), box("s3"), box("s2"), box("s1", ready=True)]
    runtime = PodRuntime(uid="u", sandboxes=boxes, containers=[ran("a", sandbox="s2")])
    assert [one.id for one in dead_sandboxes(runtime, keep_newest=True)] == ["s3"]
    assert [one.id for one in dead_sandboxes(runtime, keep_newest=False)] == ["s4", "s3"]


@pytest.mark.parametrize(("flag", "expected"), [(1, 1), (0, 1), (4, 4), (-1, -1)])
def test_the_flag_says_how_many_but_the_last_one_always_stays(flag, expected):
    assert kept({"maximum-dead-containers-per-container": flag}) == expected
    assert kept({}) == 1
