"""What is to be done next for a pod, by examples and over any history."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.pod_workers.containers.container_config import container_annotations
from actors.pod_workers.containers.spec_hash import container_hash
from actors.pod_workers.phases.actions import ActionsInput, PodActions, Start
from actors.pod_workers.phases.pod_actions import compute_actions
from actors.pod_workers.pod.starts import POST_START
from actors.pod_workers.pod.state_values import Verdicts
from actors.shared.cri.model import CriContainer, CriContainerState, PodRuntime, Sandbox
from actors.shared.kube.container import Container, ContainerRestartRule, ExitCodes, ResourceRequirements
from actors.shared.kube.handlers import Probe
from actors.shared.kube.names import CONTAINER_RESTARTS_IN_A_ROW
from actors.shared.kube.pod import Pod, PodSpec

NOW = 1_000_000.0
NONE = Verdicts()
S = CriContainerState


def pod(*names: str, init: tuple[Container, ...] = (), policy: str = "Always", **kwargs: Any) -> Pod:
    containers = [Container(name=name, image="i") for name in names]
    return Pod(spec=PodSpec(containers=containers, initContainers=list(init), restartPolicy=policy, **kwargs))


def box(number: int = 0, ready: bool = True) -> Sandbox:
    ips = ["10.0.0.2"]
    return Sandbox(id=f"s{number}", pod_uid="u", pod_name="p", pod_namespace="d", attempt=number, ready=ready, ips=ips)


def ran(
    name: str, state: CriContainerState = S.RUNNING, *, exit_code: int = 0, count: int = 0, **kwargs: Any
) -> CriContainer:
    values: dict[str, Any] = {
        "sandbox_id": "s0",
        "annotations": {"io.kubernetes.container.restartCount": str(count)},
        **kwargs,
    }
    if state is S.EXITED:
        values = {"finished_ns": int((NOW - 1) * 1e9), "started_ns": int((NOW - 2) * 1e9), **values}
    return CriContainer(id=f"{name}-{count}", name=name, pod_uid="u", state=state, exit_code=exit_code, **values)


def do(
    wanted: Pod, *containers: CriContainer, boxes: tuple[Sandbox, ...] = (box(),), verdicts: Verdicts = NONE
) -> PodActions:
    runtime = PodRuntime(uid="u", sandboxes=list(boxes), containers=list(containers))
    return compute_actions(ActionsInput(wanted, runtime, verdicts, NOW, 300.0))


def starts(actions: PodActions) -> list[tuple[str, int]]:
    return [(start.container.name, start.restart_count) for start in actions.start]


def test_a_new_pod_gets_a_sandbox_and_all_its_containers():
    actions = do(pod("a", "b"), boxes=())
    assert (actions.create_sandbox, actions.attempt, starts(actions)) == (True, 0, [("a", 0), ("b", 0)])


def test_a_new_pod_with_init_containers_starts_the_first_of_them_only():
    inits = (Container(name="i1"), Container(name="i2"))
    assert starts(do(pod("a", init=inits), boxes=())) == [("i1", 0)]


def test_a_running_pod_needs_nothing():
    assert do(pod("a"), ran("a")) == PodActions(initialized=True)


@pytest.mark.parametrize(
    ("policy", "code", "restarted"),
    [("Always", 0, True), ("Always", 1, True), ("OnFailure", 0, False), ("OnFailure", 1, True), ("Never", 1, False)],
)
def test_the_restart_policy_decides_what_becomes_of_a_container_that_ended(policy, code, restarted):
    actions = do(pod("a", "b", policy=policy), ran("a", S.EXITED, exit_code=code), ran("b"))
    assert starts(actions) == ([("a", 1)] if restarted else [])
    assert not actions.done


def test_a_pod_is_done_when_nothing_runs_and_nothing_will():
    actions = do(pod("a", "b", policy="Never"), ran("a", S.EXITED), ran("b", S.EXITED, exit_code=1))
    assert (actions.done, actions.kill_pod) == (True, True)


def test_a_second_crash_waits_and_reports_until_when():
    actions = do(pod("a"), ran("a", S.EXITED, exit_code=1, count=1))
    assert actions.start == []
    assert [(one.name, one.until) for one in actions.backoff] == [("a", NOW - 1 + 10)]


def test_init_containers_run_one_after_the_other_then_the_others_start():
    inits = (Container(name="i1"), Container(name="i2"))
    wanted = pod("a", init=inits)
    assert starts(do(wanted, ran("i1"))) == []
    assert starts(do(wanted, ran("i1", S.EXITED))) == [("i2", 0)]
    assert starts(do(wanted, ran("i2", S.EXITED), ran("i1", S.EXITED))) == [("a", 0)]


def test_an_init_container_that_fails_is_tried_again_or_ends_the_pod():
    failed = ran("i1", S.EXITED, exit_code=1)
    assert starts(do(pod("a", init=(Container(name="i1"),)), failed)) == [("i1", 1)]
    assert do(pod("a", init=(Container(name="i1"),), policy="Never"), failed).done


def test_init_containers_are_not_run_again_while_the_pod_runs():
    assert starts(do(pod("a", init=(Container(name="i1"),)), ran("a"))) == []


def sidecar(**kwargs: Any) -> Container:
    return Container(name="side", image="i", restartPolicy="Always", **kwargs)


def test_a_sidecar_runs_before_the_next_init_container_and_is_restarted():
    wanted = pod("a", init=(sidecar(), Container(name="i2")))
    assert starts(do(wanted, boxes=())) == [("side", 0)]
    assert starts(do(wanted, ran("side"))) == [("i2", 0)]
    assert starts(do(wanted, ran("side", S.EXITED), ran("a"))) == [("side", 1)]


def test_the_next_container_waits_for_the_startup_probe_of_a_sidecar():
    wanted = pod("a", init=(sidecar(startupProbe=Probe()),))
    assert starts(do(wanted, ran("side"))) == []
    assert starts(do(wanted, ran("side"), verdicts=Verdicts(started=frozenset({"side-0"})))) == [("a", 0)]


def test_a_pod_is_done_though_its_sidecar_runs():
    assert do(pod("a", init=(sidecar(),), policy="Never"), ran("a", S.EXITED), ran("side")).done


@pytest.mark.parametrize("kind", ["liveness", "startup"])
def test_an_unhealthy_container_is_killed_for_its_probe(kind):
    actions = do(pod("a"), ran("a"), verdicts=Verdicts({"a-0": kind}))
    assert [(kill.container.id, kill.probe) for kill in actions.kill] == [("a-0", kind)]


def test_a_failed_post_start_hook_is_the_reason_of_the_stop():
    actions = do(pod("a"), ran("a"), verdicts=Verdicts({"a-0": POST_START}))
    assert [(kill.container.id, kill.why, kill.probe) for kill in actions.kill] == [
        ("a-0", "FailedPostStartHook", POST_START)
    ]


@pytest.mark.parametrize(("reason", "restarted"), [("OOMKilled", True), ("Completed", False)])
def test_an_init_container_with_an_oom_kill_has_failed_with_any_exit_code(reason, restarted):
    wanted = pod("a", init=(Container(name="i"),), policy="OnFailure")
    ended = ran("i", S.EXITED, exit_code=0, reason=reason)
    assert starts(do(wanted, ended)) == ([("i", 1)] if restarted else [("a", 0)])
    lost = do(wanted, ended, boxes=(box(ready=False),))
    assert (lost.create_sandbox, lost.done) == (True, False)


def test_a_changed_image_ends_the_container_and_only_it():
    same = {"io.kubernetes.container.hash": container_hash(Container(name="b", image="i"))}
    old = {"io.kubernetes.container.hash": "1"}
    actions = do(pod("a", "b"), ran("a", annotations=old), ran("b", annotations=same))
    assert [kill.container.name for kill in actions.kill] == ["a"]


def test_a_container_that_was_created_by_a_dead_incarnation_is_started():
    actions = do(pod("a"), ran("a", S.CREATED))
    assert [one.id for one in actions.resume] == ["a-0"]
    assert (actions.start, actions.kill) == ([], [])


@pytest.mark.parametrize("state", [S.RUNNING, S.CREATED, S.EXITED])
def test_an_older_instance_that_still_runs_is_stopped_first(state):
    double, later = ran("a"), ran("a", state, count=1)
    (kill,) = do(pod("a", "b"), later, double, ran("b")).kill
    assert (kill.container.id, kill.why) == ("a-0", "Container a runs twice, its earlier instance is ended")
    assert [kill.container.id for kill in do(pod("a", policy="Never"), later, double).kill] == ["a-0"]


def test_containers_in_an_earlier_sandbox_are_stopped():
    double, later = ran("a"), ran("a", count=1, sandbox_id="s1")
    actions = do(pod("a"), later, double, boxes=(box(1), box(0, ready=False)))
    assert [kill.container.id for kill in actions.kill] == ["a-0"]


def test_a_container_in_an_unknown_state_is_ended_first():
    assert [kill.container.name for kill in do(pod("a"), ran("a", S.UNKNOWN)).kill] == ["a"]


def test_the_kill_of_a_container_in_unknown_state_names_its_kind_and_does_not_complete_it():
    why = 'is in "unknown" state, try killing it before restart'
    ended = do(pod("a"), ran("a", S.UNKNOWN)).kill[0]
    assert (ended.why, ended.restart) == (f"Container {why}", True)
    ended = do(pod("a", init=(Container(name="i"),)), ran("i", S.UNKNOWN)).kill[0]
    assert (ended.why, ended.restart) == (f"Init container {why}", True)


@pytest.mark.parametrize(("policy", "again"), [("Always", True), ("OnFailure", True), ("Never", False)])
def test_the_event_of_a_failed_probe_announces_a_restart_where_the_policy_has_one(policy, again):
    kill = do(pod("a", policy=policy), ran("a"), verdicts=Verdicts(unhealthy={"a-0": "liveness"})).kill[0]
    text = "Container a failed liveness probe" + (", will be restarted" if again else "")
    assert (kill.why, kill.restart) == (text, again)


def test_a_regular_container_with_a_restart_policy_of_its_own_is_called_no_init_container():
    own = Container(name="a", image="i", restartPolicy="Always")
    wanted = Pod(spec=PodSpec(containers=[own], restartPolicy="Never"))
    kill = do(wanted, ran("a"), verdicts=Verdicts(unhealthy={"a-0": "liveness"})).kill[0]
    assert (kill.why, kill.restart) == ("Container a failed liveness probe, will be restarted", True)
    sidecar = pod("a", init=(Container(name="i", restartPolicy="Always"),))
    kill = do(sidecar, ran("i"), verdicts=Verdicts(unhealthy={"i-0": "liveness"})).kill[0]
    assert (kill.why, kill.restart) == ("Init container i failed liveness probe", True)


def test_a_failed_post_start_hook_leaves_the_restart_to_the_policy():
    assert not do(pod("a"), ran("a"), verdicts=Verdicts(unhealthy={"a-0": POST_START})).kill[0].restart


def test_a_first_kill_for_a_restart_counts_as_no_crash():
    runtime = PodRuntime(uid="u", sandboxes=[box()], containers=[ran("a", S.EXITED), ran("b")])
    first = compute_actions(ActionsInput(pod("a", "b"), runtime, NONE, NOW, 300.0, frozenset({"a-0"})))
    assert first.start == [Start(pod("a").spec.containers[0], 1, 0)], "no crash"
    crashed = compute_actions(ActionsInput(pod("a", "b"), runtime, NONE, NOW, 300.0))
    assert crashed.start == [Start(pod("a").spec.containers[0], 1, 1)]


def test_a_container_in_an_unknown_state_is_stopped_before_its_next_instance_starts():
    runtime = PodRuntime(uid="u", sandboxes=[box()], containers=[ran("a", S.UNKNOWN)])
    failed = compute_actions(ActionsInput(pod("a"), runtime, NONE, NOW, 300.0, frozenset({"a-0"})))
    done = compute_actions(ActionsInput(pod("a"), runtime, NONE, NOW, 300.0, frozenset({"a-0"}), frozenset({"a-0"})))
    assert ([kill.container.id for kill in failed.kill], failed.start) == (["a-0"], [])
    assert (done.kill, starts(done)) == ([], [("a", 1)])


def test_a_lost_sandbox_is_replaced_and_counts_continue():
    lost = ran("a", S.EXITED, exit_code=255, reason="Unknown", count=3)
    actions = do(pod("a"), lost, boxes=(box(2, ready=False),))
    assert (actions.create_sandbox, actions.attempt, actions.kill_pod, starts(actions)) == (True, 3, True, [("a", 4)])


def test_a_container_that_crashed_stays_in_backoff_when_its_sandbox_is_replaced():
    crashed = ran("a", S.EXITED, exit_code=1, count=3)
    actions = do(pod("a", "b"), crashed, ran("b"), boxes=(box(2, ready=False),))
    assert (actions.create_sandbox, starts(actions)) == (True, [("b", 1)])
    assert [(one.name, one.until) for one in actions.backoff] == [("a", NOW - 1 + 40)]


@pytest.mark.parametrize(
    ("policy", "code", "done"), [("Never", 1, True), ("OnFailure", 0, True), ("OnFailure", 1, False)]
)
def test_a_complete_pod_gets_no_new_sandbox(policy, code, done):
    actions = do(pod("a", policy=policy), ran("a", S.EXITED, exit_code=code), boxes=(box(ready=False),))
    assert (actions.done, actions.create_sandbox) == (done, not done)


def gone_box(number: int = 0) -> tuple[Sandbox, ...]:
    return (box(number, ready=False),)


def test_a_pod_with_a_finally_failed_init_container_is_not_restarted():
    wanted = pod("a", init=(Container(name="i1"),), policy="Never")
    actions = do(wanted, ran("i1", S.EXITED, exit_code=1), boxes=gone_box())
    assert (actions.done, actions.create_sandbox) == (True, False)


@pytest.mark.parametrize("state", [S.EXITED, S.CREATED, S.UNKNOWN])
def test_no_container_restarts_under_never_after_a_sandbox_was_lost(state):
    wanted = pod("a", init=(Container(name="i1"),), policy="Never")
    assert do(wanted, ran("a", state), ran("i1", S.EXITED), boxes=gone_box()).done


def test_a_containers_policy_wins_over_the_pods_when_the_sandbox_was_lost():
    always, never = (Container(name=name, image="i", restartPolicy=name.title()) for name in ("always", "never"))
    ended = ran("always", S.EXITED, exit_code=137), ran("never", S.EXITED, exit_code=137)
    for policy in ("Never", "Always"):
        wanted = Pod(spec=PodSpec(containers=[always, never], restartPolicy=policy))
        assert starts(do(wanted, *ended, boxes=gone_box())) == [("always", 1)]


def test_a_sandbox_lost_before_anything_ran_is_replaced_under_never():
    assert do(pod("a", policy="Never"), boxes=gone_box()).create_sandbox


def test_init_containers_run_again_in_a_new_sandbox_and_their_counts_continue():
    wanted = pod("a", init=(Container(name="i1"),))
    ended = ran("i1", S.EXITED, count=2, finished_ns=int((NOW - 100) * 1e9))
    actions = do(wanted, ran("a", S.EXITED, count=1), ended, boxes=gone_box(1))
    assert starts(actions) == [("i1", 3)]


def test_a_container_lost_during_its_creation_is_created_in_the_new_sandbox():
    lost = ran("a", S.CREATED, sandbox_id="s0")
    assert starts(do(pod("a", policy="OnFailure"), lost, boxes=(box(1), box(0, ready=False)))) == [("a", 1)]


def test_a_pod_of_the_host_network_needs_no_address():
    sandbox = Sandbox(id="s0", pod_uid="u", pod_name="p", pod_namespace="d", ready=True, host_network=True)
    assert not do(pod("a", hostNetwork=True), ran("a"), boxes=(sandbox,)).create_sandbox
    assert do(pod("a"), ran("a"), boxes=(sandbox,)).create_sandbox


def test_restart_rules_of_a_container_override_the_policy_of_the_pod():
    rule = ContainerRestartRule(action="Restart", exitCodes=ExitCodes(operator="In", values=[42]))
    container = Container(name="a", image="i", restartPolicy="Never", restartPolicyRules=[rule])
    wanted = Pod(spec=PodSpec(containers=[container, Container(name="b", image="i")], restartPolicy="Never"))
    assert starts(do(wanted, ran("a", S.EXITED, exit_code=42), ran("b"))) == [("a", 1)]
    assert starts(do(wanted, ran("a", S.EXITED, exit_code=41), ran("b"))) == []


def test_an_ephemeral_container_starts_once_and_never_again():
    wanted = pod("a", ephemeralContainers=[Container(name="debug", image="i")])
    assert starts(do(wanted, ran("a"))) == [("debug", 0)]
    assert starts(do(wanted, ran("debug", S.EXITED), ran("a"))) == []
    assert do(wanted, ran("debug"), ran("a")) == PodActions(initialized=True)


GIVEN_UP: dict[str, Any] = {"exit_code": 128, "reason": "StartError", "started_ns": 0}
CANCELED = "failed to create containerd task: failed to create shim task: context canceled"
COPY = "failed to create shim task: failed to start io pipe copy: unable to copy pipes: containerd-shim: opening file"
TASK_LEFT = f"failed to create containerd task: task {'0a' * 32}: already exists"
SHIM_KILLED = "failed to create containerd task: failed to start shim: start failed: : signal: killed: unknown"
NO_PIPES = f'{COPY} "/run/c/io/1/c-stdout" failed: open /run/c/io/1/c-stdout: no such file or directory'


@pytest.mark.parametrize("policy", ["Never", "OnFailure", "Always"])
@pytest.mark.parametrize("sandbox", [box(), box(ready=False)])
@pytest.mark.parametrize("message", [CANCELED, NO_PIPES, f"{NO_PIPES}: unknown", TASK_LEFT, SHIM_KILLED])
def test_a_start_interrupted_by_the_client_or_runtime_is_repeated_at_once_under_any_policy(policy, sandbox, message):
    debug = Container(name="debug")
    lost = {"state": S.EXITED, "count": 3, **GIVEN_UP, "message": message}
    regular = do(pod("a", policy=policy), ran("a", **lost), boxes=(sandbox,))
    assert starts(regular) == [("a", 3)], "it has run nothing, so it is no restart"
    assert regular.start[0].consecutive_restarts == 3
    if sandbox.ready:
        init = do(pod("a", init=(Container(name="i"),), policy=policy), ran("i", **lost))
        assert (starts(init), init.done) == ([("i", 3)], False)
        beside = do(pod("a", policy=policy, ephemeralContainers=[debug]), ran("debug", **lost), ran("a"))
        assert starts(beside) == [("debug", 3)]


OWN_FAULTS = (
    'exec: "context canceled": not found',
    "context deadline exceeded",
    "failed to create containerd task: task web: already exists",
    f"{COPY}: no space left on device",
    "failed to start shim: start failed: exec: no such file or directory",
    'exec: "/run/c/io/1/c-stdout": stat /run/c/io/1/c-stdout: no such file or directory',
    "",
)


@pytest.mark.parametrize("message", OWN_FAULTS)
def test_a_start_that_failed_otherwise_is_an_end(message):
    actions = do(pod("a", policy="Never"), ran("a", S.EXITED, **GIVEN_UP, message=message))
    assert (starts(actions), actions.done) == ([], True)


def test_an_ephemeral_container_does_not_wait_for_init_containers():
    wanted = pod("a", init=(Container(name="i1"),), ephemeralContainers=[Container(name="debug", image="i")])
    assert starts(do(wanted, ran("i1"))) == [("debug", 0)]


def test_an_ephemeral_container_that_a_dead_incarnation_made_is_started():
    wanted = pod("a", ephemeralContainers=[Container(name="debug", image="i")])
    assert [one.id for one in do(wanted, ran("debug", S.CREATED), ran("a")).resume] == ["debug-0"]


states = st.sampled_from(CriContainerState)
histories = st.lists(st.tuples(st.sampled_from("abi"), states, st.integers(0, 2), st.integers(0, 3)), max_size=8)


@given(histories, st.sampled_from(["Always", "OnFailure", "Never"]), st.booleans())
def test_a_healthy_running_container_is_left_alone_in_any_history(history, policy, ready):
    containers = [ran(name, state, exit_code=code, count=count) for name, state, code, count in history]
    wanted = pod("a", "b", init=(Container(name="i", image="i"),), policy=policy)
    actions = do(wanted, *containers, boxes=(box(ready=ready),))
    running = {one.name for one in containers if one.state is S.RUNNING}
    newest = {name: next(one for one in containers if one.name == name) for name in running}
    if not actions.kill_pod:
        ended = [kill.container for kill in actions.kill if kill.container.state is S.RUNNING]
        doubles = [one for one in containers if one.state is S.RUNNING and one is not newest[one.name]]
        assert list(map(id, ended)) == list(map(id, doubles))
        started = {start.container.name for start in actions.start} | {one.name for one in actions.resume}
        assert not started & {name for name, one in newest.items() if one.state is S.RUNNING}
    assert len({start.container.name for start in actions.start}) == len(actions.start)
    assert not (actions.done and actions.start)


def restarts_all(name: str, code: int = 88) -> Container:
    rule = ContainerRestartRule(action="RestartAllContainers", exitCodes=ExitCodes(operator="In", values=[code]))
    return Container(name=name, image="i", restartPolicy="Never", restartPolicyRules=[rule])


def test_an_exit_that_restarts_all_containers_has_priority():
    wanted = Pod(spec=PodSpec(containers=[restarts_all("a"), Container(name="b", image="i")], restartPolicy="Never"))
    actions = do(wanted, ran("a", S.EXITED, exit_code=88), ran("b", S.EXITED, exit_code=1))
    assert [one.name for one in actions.restart_all] == ["a"]
    assert (starts(actions), actions.done, actions.kill_pod) == ([], False, False)
    other = do(wanted, ran("a", S.EXITED, exit_code=1), ran("b"))
    assert (other.restart_all, starts(other)) == ([], [])


def test_an_init_container_can_restart_all_too():
    wanted = Pod(
        spec=PodSpec(containers=[Container(name="a")], initContainers=[restarts_all("i")], restartPolicy="Never")
    )
    assert [one.name for one in do(wanted, ran("i", S.EXITED, exit_code=88)).restart_all] == ["i"]


def test_a_container_that_restarts_all_repeatedly_has_a_backoff():
    wanted = Pod(spec=PodSpec(containers=[restarts_all("a"), Container(name="b", image="i")]))
    row: dict[str, Any] = {
        "annotations": {"io.kubernetes.container.restartCount": "2", CONTAINER_RESTARTS_IN_A_ROW: "2"}
    }
    actions = do(wanted, ran("a", S.EXITED, exit_code=88, **row), ran("b"))
    assert actions.restart_all == []
    assert [(one.name, one.until) for one in actions.backoff] == [("a", NOW - 1 + 20.0)]


def crashing(container: Container) -> CriContainer:
    """It is in its backoff, and was created from this."""
    annotations = container_annotations(Pod(spec=PodSpec(containers=[container])), Start(container, 5, 5))
    return ran("a", S.EXITED, exit_code=1, count=5, annotations=annotations)


@pytest.mark.parametrize(
    "mended",
    [
        Container(name="a", image="mended"),
        Container(name="a", image="i", resources=ResourceRequirements(limits={"memory": "2Gi"})),
    ],
)
def test_a_crashing_container_with_another_image_or_other_resources_starts_at_once(mended):
    given = Container(name="a", image="i", resources=ResourceRequirements(limits={"memory": "1Gi"}))
    assert [one.name for one in do(Pod(spec=PodSpec(containers=[given])), crashing(given)).backoff] == ["a"]
    (start,) = do(Pod(spec=PodSpec(containers=[mended])), crashing(given)).start
    assert (start.restart_count, start.consecutive_restarts) == (6, 1)


def test_a_sidecar_in_backoff_delays_nothing_after_a_later_init_container_has_started():
    inits = (Container(name="side", restartPolicy="Always"), Container(name="i"))
    dead = ran("side", S.EXITED, exit_code=1, count=3)
    assert starts(do(pod("a", init=inits), dead)) == [], "never passed: it is waited for"
    actions = do(pod("a", init=inits), dead, ran("i", S.EXITED))
    assert (starts(actions), [one.name for one in actions.backoff]) == ([("a", 0)], ["side"])
    running = do(pod("a", init=(*inits, Container(name="j"))), dead, ran("i", S.EXITED))
    assert starts(running) == [("j", 0)]


def test_a_pod_whose_cgroup_was_removed_gets_a_new_sandbox():
    runtime = PodRuntime(uid="u", sandboxes=[box()], containers=[ran("a")])
    assert starts(compute_actions(ActionsInput(pod("a"), runtime, NONE, NOW, 300.0))) == []
    actions = compute_actions(ActionsInput(pod("a"), runtime, NONE, NOW, 300.0), cgroup_gone=True)
    assert (actions.kill_pod, actions.create_sandbox, actions.attempt) == (True, True, 1)
