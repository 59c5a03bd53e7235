"""What becomes of the containers of a sandbox that stays."""

from __future__ import annotations

import msgspec
import pytest

from actors.pod_workers.phases.actions import ActionsInput, PodActions
from actors.pod_workers.phases.pod_actions import compute_actions
from actors.pod_workers.pod.state_values import Verdicts
from actors.shared.cri.model import CriContainer, CriContainerState
from actors.shared.kube.container import Container
from actors.shared.kube.names import CONTAINER_HASH
from actors.shared.kube.pod import Pod
from tests.support.pod_states import NOW, pod, ran, runtime

S = CriContainerState
NONE = Verdicts()
INIT, SIDECAR = Container(name="i"), Container(name="i", restartPolicy="Always")


def do(
    wanted: Pod, *containers: CriContainer, verdicts: Verdicts = NONE, restarting: tuple[str, ...] = ()
) -> PodActions:
    return compute_actions(ActionsInput(wanted, runtime(*containers), verdicts, NOW, 300.0, frozenset(restarting)))


def starts(actions: PodActions) -> list[tuple[str, int]]:
    return [(start.container.name, start.restart_count) for start in actions.start]


def other_image(container: CriContainer) -> CriContainer:
    return msgspec.structs.replace(container, annotations={CONTAINER_HASH: "of another image"})


@pytest.mark.parametrize("policy", ["Never", "OnFailure", "Always"])
def test_the_containers_of_a_new_pod_start_under_any_policy(policy: str) -> None:
    assert starts(do(pod("a", "b", restartPolicy=policy))) == [("a", 0), ("b", 0)]
    assert starts(do(pod("a", initContainers=[INIT], restartPolicy=policy))) == [("i", 0)]


@pytest.mark.parametrize("state", [S.RUNNING, S.CREATED])
def test_an_init_container_that_is_not_known_to_have_ended_fails_no_pod(state: CriContainerState) -> None:
    actions = do(pod("a", initContainers=[INIT], restartPolicy="Never"), ran("i", state))
    assert (actions.done, actions.kill_pod, actions.initialized, starts(actions)) == (False, False, False, [])


def test_an_init_container_whose_state_the_runtime_does_not_know_fails_a_pod_under_never_only() -> None:
    for policy, failed in (("Never", True), ("OnFailure", False), ("Always", False)):
        actions = do(pod("a", initContainers=[INIT], restartPolicy=policy), ran("i", S.UNKNOWN))
        assert (actions.done, actions.kill_pod, [kill.container.id for kill in actions.kill]) == (
            failed, failed, [] if failed else ["i-0"],
        )  # fmt: skip


def test_the_last_unhealthy_container_of_a_pod_is_stopped_before_the_pod_ends() -> None:
    wanted, verdicts = pod("a", "b", restartPolicy="Never"), Verdicts({"a-0": "liveness"})
    actions = do(wanted, ran("a"), ran("b", S.EXITED), verdicts=verdicts)
    assert ([kill.probe for kill in actions.kill], actions.done, actions.kill_pod) == (["liveness"], False, False)
    over = do(wanted, ran("a", S.EXITED, exit_code=137), ran("b", S.EXITED), verdicts=verdicts)
    assert (over.kill, over.done, over.kill_pod) == ([], True, True)


@pytest.mark.parametrize("policy", ["Never", "Always"])
def test_a_container_with_another_image_is_restarted_under_any_policy(policy: str) -> None:
    (kill,) = do(pod("a", restartPolicy=policy), other_image(ran("a"))).kill
    assert (kill.why, kill.restart) == ("Container a definition changed, will be restarted", True)
    killed = do(pod("a", restartPolicy=policy), ran("a", S.EXITED, exit_code=137), restarting=("a-0",))
    assert (starts(killed), killed.done) == ([("a", 1)], False)


def test_a_sidecar_with_another_image_holds_up_the_next_container_until_it_runs_again() -> None:
    wanted = pod("a", initContainers=[SIDECAR])
    actions = do(wanted, other_image(ran("i")))
    assert ([kill.container.id for kill in actions.kill], starts(actions)) == (["i-0"], [])
    assert starts(do(wanted, ran("i"))) == [("a", 0)]


def test_an_init_container_that_was_stopped_for_a_restart_runs_again_though_it_ended_with_0() -> None:
    wanted = pod("a", initContainers=[INIT])
    assert starts(do(wanted, ran("i", S.EXITED))) == [("a", 0)]
    assert starts(do(wanted, ran("i", S.EXITED), restarting=("i-0",))) == [("i", 1)]


def test_a_sidecar_is_not_restarted_in_a_pod_whose_containers_have_ended() -> None:
    wanted = pod("a", initContainers=[SIDECAR], restartPolicy="Never")
    assert starts(do(wanted, ran("i", S.EXITED), ran("a"))) == [("i", 1)]
    over = do(wanted, ran("i", S.EXITED), ran("a", S.EXITED))
    assert (over.start, over.resume, over.backoff, over.done) == ([], [], [], True)


@pytest.mark.parametrize("name", ["i", "a"])
def test_a_container_that_was_created_is_started_and_ends_no_pod(name: str) -> None:
    wanted = pod("a", initContainers=[SIDECAR], restartPolicy="Never")
    others = [ran("i")] if name == "a" else []
    actions = do(wanted, *others, ran(name, S.CREATED))
    assert ([one.id for one in actions.resume], starts(actions), actions.done) == ([f"{name}-0"], [], False)


def test_an_unhealthy_sidecar_holds_up_the_next_container() -> None:
    actions = do(pod("a", initContainers=[SIDECAR]), ran("i"), verdicts=Verdicts({"i-0": "liveness"}))
    assert ([kill.container.id for kill in actions.kill], starts(actions)) == (["i-0"], [])


def test_a_sidecar_is_restarted_while_the_last_container_is_stopped_for_another_image() -> None:
    wanted = pod("a", initContainers=[SIDECAR], restartPolicy="Never")
    actions = do(wanted, ran("i", S.EXITED), other_image(ran("a")))
    assert ([kill.container.id for kill in actions.kill], starts(actions)) == (["a-0"], [("i", 1)])
