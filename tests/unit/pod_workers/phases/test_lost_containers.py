"""What a pod does of which the runtime has lost a container: another program has removed it."""

from __future__ import annotations

import pytest

from actors.pod_workers.phases.actions import ActionsInput
from actors.pod_workers.phases.pod_actions import compute_actions
from actors.pod_workers.pod.lost_container import LostContainer
from actors.shared.cri.model import CriContainer, PodRuntime
from actors.shared.kube.container import Container
from actors.shared.kube.pod import Pod, PodSpec
from tests.unit.pod_workers.phases.test_pod_actions import NONE, NOW, S, box, pod, ran, starts


@pytest.mark.parametrize(
    ("policy", "boxes", "started"),
    [
        ("Never", (box(),), None), ("Never", (), None), ("Never", (box(ready=False),), None),
        ("OnFailure", (box(),), ["a"]), ("Always", (box(),), ["a"]), ("Always", (), ["i"]),
    ],
)  # fmt: skip
def test_a_container_that_the_runtime_lost_runs_again_where_its_policy_restarts_a_killed_one(policy, boxes, started):
    """Its init container, which has ended before, is lost with it."""
    wanted = pod("a", init=(Container(name="i"),), policy=policy)
    runtime = PodRuntime(uid="u", sandboxes=list(boxes))
    actions = compute_actions(ActionsInput(wanted, runtime, NONE, NOW, 300.0, lost={"a": LostContainer("s0")}))
    assert actions.done is (started is None)
    assert [name for name, _ in starts(actions)] == (started or [])


@pytest.mark.parametrize(("policy", "done"), [("Never", True), ("Always", False)])
def test_an_init_container_that_the_runtime_lost_has_failed(policy, done):
    wanted = pod("a", init=(Container(name="i"),), policy=policy)
    runtime = PodRuntime(uid="u", sandboxes=[box()])
    actions = compute_actions(ActionsInput(wanted, runtime, NONE, NOW, 300.0, lost={"i": LostContainer("s0")}))
    assert (actions.done, starts(actions)) == (done, [] if done else [("i", 0)])


def test_init_containers_run_in_a_new_sandbox_also_when_all_of_the_last_one_is_lost():
    wanted = pod("a", init=(Container(name="i"), Container(name="j")))

    def hook_started(*containers: CriContainer) -> list[tuple[str, int]]:
        runtime = PodRuntime(uid="u", sandboxes=[box(1)], containers=list(containers))
        return starts(compute_actions(ActionsInput(wanted, runtime, NONE, NOW, 300.0, lost={"a": LostContainer("s0")})))

    assert hook_started() == [("i", 0)]
    assert hook_started(ran("i", sandbox_id="s1")) == []
    assert hook_started(ran("i", S.EXITED, sandbox_id="s1")) == [("j", 0)]


def test_a_new_sandbox_begins_without_a_lost_container_that_must_run_once():
    once, again = Container(name="a", image="i"), Container(name="b", image="i", restartPolicy="Always")
    wanted = Pod(spec=PodSpec(containers=[once, again], restartPolicy="Never"))
    actions = compute_actions(
        ActionsInput(
            wanted, PodRuntime(uid="u"), NONE, NOW, 300.0, lost={"a": LostContainer("s0"), "b": LostContainer("s0")}
        )
    )
    assert (actions.create_sandbox, starts(actions)) == (True, [("b", 0)])


@pytest.mark.parametrize(("code", "started"), [(0, []), (1, ["a"])])
@pytest.mark.parametrize("boxes", [(), (box(),)])
def test_a_container_whose_exit_is_known_does_as_that_exit_says_when_it_is_lost(boxes, code, started):
    wanted = pod("a", policy="OnFailure")
    lost = {"a": LostContainer("s0", code)}
    actions = compute_actions(
        ActionsInput(wanted, PodRuntime(uid="u", sandboxes=list(boxes)), NONE, NOW, 300.0, lost=lost)
    )
    assert [name for name, _ in starts(actions)] == started
    assert actions.done is not bool(started)


def test_no_sandbox_is_made_for_a_lost_init_container_that_must_run_once():
    wanted = pod("a", init=(Container(name="i"),), policy="Never")
    actions = compute_actions(
        ActionsInput(wanted, PodRuntime(uid="u"), NONE, NOW, 300.0, lost={"i": LostContainer("s0")})
    )
    assert (actions.done, actions.create_sandbox) == (True, False)
