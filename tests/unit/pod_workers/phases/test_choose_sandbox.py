"""Whether a pod needs a new sandbox, and what its containers lose with the old one."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from actors.pod_workers.phases.actions import ActionsInput
from actors.pod_workers.phases.pod_actions import choose_sandbox, compute_actions, lost_with_sandbox
from actors.pod_workers.pod.lost_container import LostContainer
from actors.pod_workers.pod.state_values import Verdicts
from actors.shared.cri.model import CriContainer, CriContainerState, Sandbox
from actors.shared.kube.container import Container, ContainerRestartRule, ExitCodes
from actors.shared.kube.pod import Pod, PodSpec
from tests.support.pod_states import NOW, box, pod, ran, runtime

S = CriContainerState


def changed(sandbox: Sandbox, **fields: Any) -> Sandbox:
    return msgspec.structs.replace(sandbox, **fields)


@pytest.mark.parametrize(
    ("boxes", "host_network", "replaced"),
    [
        ((box(3),), False, False),
        ((box(3), box(2, ready=False)), False, False),
        ((box(3), box(2)), False, True),
        ((box(3, ready=False), box(2)), False, True),
        ((box(3),), True, True),
        ((changed(box(3), host_network=True),), False, True),
        ((changed(box(3), host_network=True, ips=[]),), True, False),
        ((changed(box(3), ips=[]),), False, True),
    ],
)
def test_a_sandbox_is_replaced_that_is_not_the_only_ready_one_or_has_not_the_network_of_the_pod(
    boxes: tuple[Sandbox, ...], host_network: bool, replaced: bool
) -> None:
    wanted, found = pod(hostNetwork=host_network), runtime(boxes=boxes)
    assert choose_sandbox(wanted, found) == (boxes[0], replaced, 4 if replaced else 3)
    assert choose_sandbox(wanted, found, cgroup_gone=True) == (boxes[0], True, 4)
    assert choose_sandbox(wanted, runtime(boxes=())) == (None, True, 0)


def test_containers_that_run_without_a_sandbox_are_stopped_before_there_is_a_new_one() -> None:
    for containers, kill in (((ran("a"),), True), ((ran("a", S.EXITED, exit_code=1),), False), ((), False)):
        actions = compute_actions(ActionsInput(pod("a"), runtime(*containers, boxes=()), Verdicts(), NOW, 300.0))
        assert (actions.create_sandbox, actions.kill_pod) == (True, kill)


def test_the_work_of_a_container_that_ends_with_its_sandbox_is_not_done_unless_its_policy_is_never() -> None:
    spec = PodSpec(
        containers=[
            Container(name="a"), Container(name="b", restartPolicy="Never"), Container(name="c"),
            Container(name="d", restartPolicy="Always"),
        ],
        initContainers=[Container(name="i")],
    )  # fmt: skip
    found = runtime(ran("a"), ran("b"), ran("c", S.EXITED), ran("d"), ran("i"))
    lost = {
        policy: lost_with_sandbox(Pod(spec=msgspec.structs.replace(spec, restartPolicy=policy)), found)
        for policy in ("Always", "OnFailure", "Never")
    }
    assert lost == {"Always": ["a-0", "d-0"], "OnFailure": ["a-0", "d-0"], "Never": ["d-0"]}


def test_a_lost_init_container_ends_only_a_pod_that_must_not_run_it_again() -> None:
    def needs(policy: str) -> bool:
        wanted = pod("a", initContainers=[Container(name="i")], restartPolicy=policy)
        facts = ActionsInput(wanted, runtime(boxes=()), Verdicts(), NOW, 300.0, lost={"i": LostContainer("s0")})
        return compute_actions(facts).create_sandbox

    assert [needs(policy) for policy in ("Never", "OnFailure", "Always")] == [False, True, True]


@pytest.mark.parametrize(
    ("policy", "before", "again"),
    [
        ("Always", (ran("i"),), True), ("OnFailure", (ran("i"),), True), ("Never", (ran("i"),), False),
        ("Always", (ran("i", S.EXITED), ran("a", S.CREATED)), True),
        ("Always", (ran("i", S.EXITED), ran("a")), False), ("Always", (ran("i", S.EXITED), ran("a", S.EXITED)), False),
    ],
)  # fmt: skip
def test_a_container_that_must_run_once_and_has_not_begun_is_not_lost_with_the_sandbox_of_its_init_container(
    policy: str, before: tuple[CriContainer, ...], again: bool
) -> None:
    once = Container(name="a", restartPolicy="Never")
    wanted = Pod(spec=PodSpec(containers=[once], initContainers=[Container(name="i")], restartPolicy=policy))
    actions = compute_actions(ActionsInput(wanted, runtime(*before, boxes=(box(ready=False),)), Verdicts(), NOW, 300.0))
    assert (actions.create_sandbox, actions.done) == (again, not again)
    assert [start.container.name for start in actions.start] == (["i"] if again else [])


_RULES = [ContainerRestartRule(action="Restart")]


@pytest.mark.parametrize(
    ("own", "rules", "state", "again"),
    [
        (None, [], S.RUNNING, False), ("Never", [], S.RUNNING, False), ("Never", _RULES, S.RUNNING, False),
        ("Never", [], S.UNKNOWN, False), ("Never", [], S.CREATED, True), ("OnFailure", [], S.RUNNING, True),
    ],
)  # fmt: skip
def test_a_container_that_must_run_once_has_had_its_run_if_it_runs_as_the_sandbox_of_its_neighbour_is_lost(
    own: Any, rules: list[ContainerRestartRule], state: CriContainerState, again: bool
) -> None:
    once = Container(name="a", restartPolicy=own, restartPolicyRules=rules)
    spec = PodSpec(containers=[once, Container(name="b", restartPolicy="Always")], restartPolicy="Never")
    before = (ran("a", state), ran("b"))
    facts = ActionsInput(Pod(spec=spec), runtime(*before, boxes=(box(ready=False),)), Verdicts(), NOW, 300.0)
    actions = compute_actions(facts)
    assert actions.create_sandbox
    assert [start.container.name for start in actions.start] == (["a", "b"] if again else ["b"])


def test_rules_decide_about_a_container_of_a_lost_sandbox_once_its_exit_code_is_known() -> None:
    def after(code: int) -> tuple[bool, list[str]]:
        rule = ContainerRestartRule(action="Restart", exitCodes=ExitCodes(operator="In", values=[42]))
        wanted = Pod(
            spec=PodSpec(
                containers=[Container(name="a", restartPolicy="Never", restartPolicyRules=[rule])],
                restartPolicy="Never",
            )
        )
        ended = msgspec.structs.replace(ran("a", S.EXITED, exit_code=code), sandbox_id="old")
        actions = compute_actions(ActionsInput(wanted, runtime(ended, boxes=(box(1),)), Verdicts(), NOW + 1000, 300.0))
        return actions.done, [start.container.name for start in actions.start]

    assert [after(42), after(143)] == [(False, ["a"]), (True, [])]
