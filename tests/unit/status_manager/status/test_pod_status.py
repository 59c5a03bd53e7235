"""The status of a pod: tables of cases, and rules that hold for any history."""

from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from actors.shared.cri.model import CriUser, PodRuntime, Sandbox
from actors.shared.kube import codec
from actors.shared.kube.container import ResourceRequirements
from actors.shared.kube.pod import PodCondition, PodStatus
from actors.shared.kube.pods import TERMINAL_PHASES
from actors.status_manager.containers.container_status import MESSAGE_BYTES
from actors.status_manager.containers.container_status_input import Readiness
from actors.status_manager.messages import PodObserved, Resize, Waiting
from actors.status_manager.status.pod_status import compute
from actors.status_manager.status.pod_status_input import PodStatusInput
from actors.status_manager.times import time_of_ns
from tests.support.pod_statuses import CRASHED, FAILURE, INIT, NEVER, NODE, NOW, SIDECAR, TWO, S, look, of, pod_of, ran
from tests.support.present import present


@pytest.mark.parametrize(
    ("spec", "containers", "seen", "phase"),
    [
        ({}, [], {}, "Pending"),
        ({}, [ran()], {}, "Running"),
        ({}, [ran(code=0)], {}, "Running"),
        ({}, [ran(code=1)], {"waiting": CRASHED}, "Running"),
        ({}, [], {"waiting": {"a": Waiting("ErrImagePull")}}, "Pending"),
        (NEVER, [ran(code=0)], {"worker_phase": "terminated"}, "Succeeded"),
        (NEVER, [ran(code=3)], {"worker_phase": "terminated"}, "Failed"),
        (NEVER, [ran(code=0)], {"worker_phase": "terminating"}, "Running"),
        (FAILURE, [ran(code=0)], {"worker_phase": "terminated"}, "Succeeded"),
        (FAILURE, [ran(code=3)], {}, "Running"),
        ({}, [ran(code=0)], {"worker_phase": "terminated"}, "Succeeded"),
        ({}, [ran(code=137)], {"worker_phase": "terminated"}, "Failed"),
        ({}, [], {"worker_phase": "terminated"}, "Failed"),
        ({}, [], {"worker_phase": "rejected", "reason": "OutOfcpu", "runtime": None}, "Failed"),
        ({}, [ran(code=143)], {"worker_phase": "terminated", "reason": "Evicted"}, "Failed"),
        ({}, [ran(code=0)], {"worker_phase": "terminated", "reason": "Evicted"}, "Succeeded"),
        ({}, [ran(code=0)], {"worker_phase": "terminated", "reason": "DeadlineExceeded"}, "Failed"),
        ({}, [ran(code=0)], {"worker_phase": "terminated", "reason": "Terminated"}, "Failed"),
        (INIT, [], {}, "Pending"),
        (INIT, [ran("i")], {}, "Pending"),
        (INIT, [ran("i", code=0)], {}, "Pending"),
        (INIT, [ran("i", code=0), ran()], {}, "Running"),
        (INIT, [ran()], {}, "Running"),
        ({**INIT, **NEVER}, [ran("i", code=1)], {"worker_phase": "terminated"}, "Failed"),
        (INIT, [ran("i", code=1)], {"waiting": {"i": Waiting("CrashLoopBackOff")}}, "Pending"),
        (SIDECAR, [ran("i")], {}, "Pending"),
        (SIDECAR, [ran("i"), ran()], {}, "Running"),
        ({**SIDECAR, **NEVER}, [ran("i", code=143), ran(code=0)], {"worker_phase": "terminated"}, "Succeeded"),
        (
            {**NEVER, "containers": [{"name": "a", "image": "i", "restartPolicy": "Never", "restartPolicyRules": [
                {"action": "Restart", "exitCodes": {"operator": "In", "values": [42]}}]}]},
            [ran(code=42)], {}, "Running",
        ),
        (
            {**FAILURE, "containers": TWO}, [ran(code=0), ran("b", code=1)],
            {"waiting": {"b": Waiting("CrashLoopBackOff")}}, "Running",
        ),
        ({**NEVER, "containers": TWO}, [ran(code=0), ran("b", code=1)], {}, "Running"),
    ],
)  # fmt: skip
def test_the_phase_follows_from_the_containers(spec, containers, seen, phase):
    assert look(pod_of(spec), *containers, **seen).phase == phase


def test_a_running_pod_has_everything_that_kubectl_shows():
    status = json.loads(codec.encode(look(pod_of({"hostname": "h"}), ran(attempt=2))))
    (container,) = status["containerStatuses"]
    assert container["state"] == {"running": {"startedAt": "2023-11-14T22:14:10Z"}}
    assert container["lastState"] == {}
    assert (container["ready"], container["started"], container["restartCount"]) == (True, True, 2)
    assert (container["containerID"], container["imageID"]) == ("containerd://id-a", "sha256:1")
    assert (status["hostIP"], status["podIP"]) == ("10.0.0.1", "10.1.0.2")
    assert status["hostIPs"] == [{"ip": "10.0.0.1"}, {"ip": "fd00::1"}]
    assert status["qosClass"] == "BestEffort"
    assert [c["type"] for c in status["conditions"]] == [
        "PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled",
    ]  # fmt: skip


def test_a_host_network_pod_has_the_addresses_of_the_node():
    assert [ip.ip for ip in look(pod_of({"hostNetwork": True}), ran()).podIPs] == NODE.ips


@pytest.mark.parametrize(
    ("spec", "containers", "seen", "kind", "expected"),
    [
        ({}, [ran()], {}, "Ready", ("True", "")),
        ({}, [ran()], {"ready": False}, "Ready", ("False", "ContainersNotReady")),
        ({}, [], {}, "ContainersReady", ("False", "ContainersNotReady")),
        ({"readinessGates": [{"conditionType": "x/y"}]}, [ran()], {}, "Ready", ("False", "ReadinessGatesNotReady")),
        ({"readinessGates": [{"conditionType": "x/y"}]}, [ran()], {}, "ContainersReady", ("True", "")),
        (NEVER, [ran(code=0)], {"worker_phase": "terminated"}, "Ready", ("False", "PodCompleted")),
        (NEVER, [ran(code=1)], {"worker_phase": "terminated"}, "ContainersReady", ("False", "PodFailed")),
        (INIT, [ran("i")], {}, "Initialized", ("False", "ContainersNotInitialized")),
        (INIT, [ran("i", code=0)], {}, "Initialized", ("True", "")),
        (SIDECAR, [ran("i")], {}, "Initialized", ("True", "")),
        (NEVER, [ran(code=0)], {"worker_phase": "terminated"}, "Initialized", ("True", "PodCompleted")),
        (
            {**NEVER, **INIT},
            [ran("i", code=0), ran(code=0)],
            {"worker_phase": "terminated"},
            "Initialized",
            ("True", "PodCompleted"),
        ),
        (NEVER, [ran(code=1)], {"worker_phase": "terminated"}, "Initialized", ("True", "")),
        ({}, [], {"sandbox_ready": True}, "PodReadyToStartContainers", ("True", "")),
        ({}, [], {}, "PodReadyToStartContainers", ("False", "")),
    ],
)
def test_the_conditions_follow_from_the_containers(spec, containers, seen, kind, expected):
    assert of(look(pod_of(spec), *containers, **seen), kind) == expected


def test_a_debug_container_shows_why_it_waits_and_still_waits_at_the_end_if_it_never_ran():
    spec = {"ephemeralContainers": [{"name": "debug", "image": "x"}]}
    status = look(pod_of(spec), ran(), waiting={"debug": Waiting("ErrImagePull", "no such image")})
    (debug,) = status.ephemeralContainerStatuses
    assert (present(debug.state.waiting).reason, status.phase) == ("ErrImagePull", "Running")
    (debug,) = look(pod_of(spec), ran(code=0), worker_phase="terminated", before=status).ephemeralContainerStatuses
    assert present(debug.state.waiting).reason == "ContainerCreating"


def test_the_end_of_a_container_that_is_not_restarted_after_all_is_not_its_last_end_too():
    waits = {"a": Waiting("CrashLoopBackOff", "")}
    waiting = look(pod_of(FAILURE), ran(code=1, attempt=1), waiting=waits)
    assert waiting.containerStatuses[0].lastState.terminated is not None
    over = look(pod_of(FAILURE), ran(code=1, attempt=1), worker_phase="terminated", before=waiting)
    (status,) = over.containerStatuses
    assert (present(status.state.terminated).exitCode, status.lastState.terminated) == (1, None)


@pytest.mark.parametrize(
    ("spec", "code", "shown"),
    [({}, 137, "terminated"), ({}, 0, "terminated"), (FAILURE, 137, "terminated"), (FAILURE, 0, "waiting")],
)
def test_a_container_stopped_for_a_restart_waits_only_if_its_end_would_count_as_the_last_one(spec, code, shown):
    status = look(pod_of(spec), ran(code=code), waiting={"a": Waiting("ContainerCreating")})
    (one,) = status.containerStatuses
    assert (getattr(one.state, shown) is not None, status.phase) == (True, "Running")


def test_a_container_that_could_not_be_started_started_at_zero():
    status = look(pod_of(), ran(code=128, reason="StartError", started_ns=0)).containerStatuses[0]
    end = status.state.terminated or status.lastState.terminated
    assert present(end).startedAt == "1970-01-01T00:00:00Z"


def test_a_debug_container_that_runs_is_neither_started_nor_ready():
    status = look(pod_of({"ephemeralContainers": [{"name": "debug", "image": "x"}]}), ran(), ran("debug"))
    (debug,) = status.ephemeralContainerStatuses
    assert debug.state.running is not None
    assert (debug.started, debug.ready) == (None, False)


def test_the_user_is_shown_where_the_runtime_reports_it():
    user = CriUser(uid=1000, gid=3000, supplemental_groups=[4000])
    shown = look(pod_of(), ran(user=user)).containerStatuses[0].user
    linux = present(present(shown).linux)
    assert (linux.uid, linux.gid, linux.supplementalGroups) == (1000, 3000, [4000])
    assert look(pod_of(), ran()).containerStatuses[0].user is None


def test_the_reported_status_stays_until_the_runtime_is_read():
    before = look(pod_of(), ran())
    assert look(pod_of(), worker_phase="admitting", runtime=None, before=before, now=NOW + 9 * S) == before
    assert look(pod_of(), worker_phase="running", runtime=None, before=before, now=NOW + 9 * S) == before


def test_a_crashing_container_waits_and_shows_how_it_ended():
    first = ran(code=7, id="old", attempt=0)
    status = look(pod_of(), ran(code=1, attempt=1), first, waiting=CRASHED).containerStatuses[0]
    assert present(status.state.waiting).reason == "CrashLoopBackOff"
    assert (present(status.lastState.terminated).exitCode, present(status.lastState.terminated).reason) == (1, "Error")
    again = look(pod_of(), ran(id="new", attempt=2), ran(code=1, attempt=1)).containerStatuses[0]
    assert again.state.running is not None
    assert present(again.lastState.terminated).exitCode == 1


def test_a_container_that_vanished_while_it_ran_is_counted_as_a_restart_of_unknown_end():
    before = look(pod_of(), ran(attempt=4))
    lost = look(pod_of(), before=before).containerStatuses[0]
    assert present(lost.state.waiting).reason == "ContainerCreating"
    assert (present(lost.lastState.terminated).reason, present(lost.lastState.terminated).exitCode) == (
        "ContainerStatusUnknown",
        137,
    )
    assert lost.restartCount == 5
    kept = look(pod_of(), before=look(pod_of(), before=before)).containerStatuses[0]
    assert kept.restartCount == 5
    assert kept.lastState == lost.lastState


def test_an_init_container_that_was_collected_is_completed():
    status = look(pod_of(INIT), ran()).initContainerStatuses[0]
    end = present(status.state.terminated)
    assert (end.exitCode, end.reason, status.ready) == (0, "Completed", True)
    assert end.message.startswith("Unable to get init container status from container runtime")


def test_an_init_container_that_was_collected_keeps_the_end_that_was_reported():
    name = pod_of(INIT).spec.initContainers[0].name
    before = look(pod_of(INIT), ran(name, code=0), ran())
    assert look(pod_of(INIT), ran(), before=before).initContainerStatuses == before.initContainerStatuses
    assert before.initContainerStatuses[0].containerID.endswith(f"id-{name}")


def test_termination_messages_of_a_pod_are_bounded_in_total():
    spec = {"containers": [{"name": name, "image": "i"} for name in "abc"]}
    status = look(pod_of(spec), *(ran(name, code=1, message="ä" * 9000) for name in "abc"))
    total = sum(len(present(each.state.terminated).message.encode()) for each in status.containerStatuses)
    assert 0 < total <= MESSAGE_BYTES


def test_ephemeral_containers_have_their_share_of_the_termination_messages():
    spec = {"ephemeralContainers": [{"name": name, "image": "i"} for name in "xyz"]}
    (status,) = look(pod_of(spec), ran(code=1, message="m" * 9000)).containerStatuses
    assert len(present(status.state.terminated).message) == MESSAGE_BYTES // 4


def test_times_of_conditions_move_only_with_their_status():
    before = look(pod_of(), ran())
    same = look(pod_of(), ran(), before=before, now=NOW + 60 * S)
    assert same.conditions == before.conditions
    changed = look(pod_of(), ran(), before=before, ready=False, now=NOW + 60 * S)
    times = {c.type: c.lastTransitionTime for c in changed.conditions}
    assert times["Ready"] == "2023-11-14T22:16:00Z"
    assert times["Initialized"] == before.conditions[1].lastTransitionTime


def test_a_pod_has_run_since_its_oldest_sandbox_however_old_its_manifest_is():
    pod = pod_of(annotations={"kubernetes.io/config.seen": "2019-11-14T22:00:00.123456789Z"})
    boxes = [
        Sandbox(id=str(age), pod_uid="u", pod_name="p", pod_namespace="n", created_ns=NOW - age * S)
        for age in (20, 60, 40)
    ]
    runtime = PodRuntime(uid="u", sandboxes=boxes, containers=[ran()])
    one, other = look(pod, runtime=runtime), look(pod, runtime=runtime, now=NOW + 3600 * S)
    assert one == other
    assert one.startTime == time_of_ns(NOW - 60 * S)
    assert look(pod, runtime=PodRuntime(uid="u")).startTime == time_of_ns(NOW)
    early = look(pod, runtime=None)
    assert early.startTime == time_of_ns(NOW)
    assert look(pod, before=early, runtime=runtime).startTime == one.startTime, "the runtime was not known yet"
    reported = msgspec.structs.replace(pod, status=early)
    assert look(reported, before=early, runtime=runtime).startTime == early.startTime


def test_a_container_of_a_never_restarted_pod_cannot_come_back():
    before = look(pod_of(NEVER), ran(code=0))
    assert look(pod_of(NEVER), ran(id="other"), before=before) == before


def observed(spec: dict[str, object], **status: object) -> PodStatusInput:
    """A pod whose container runs."""
    pod = replace(pod_of(spec), status=PodStatus(**status))  # type: ignore[arg-type]
    sandbox = Sandbox(id="s", pod_uid="u", pod_name="p", pod_namespace="n", ready=True, ips=["10.1.0.2"])
    runtime = PodRuntime(uid="u", sandboxes=[sandbox], containers=[ran()])
    message = PodObserved("u", codec.encode(pod), worker_phase="running", runtime=runtime)
    return PodStatusInput(message, pod, lambda *_: Readiness(True, True), NOW)


def test_without_the_gate_a_status_has_no_resources_of_the_whole_pod():
    observation = observed({"resources": {"requests": {"cpu": "1"}}})
    on, off = (compute(observation, replace(NODE, pod_resources=gate), None) for gate in (True, False))
    assert (on.allocatedResources, present(on.resources).requests) == ({"cpu": "1"}, {"cpu": "1"})
    assert (off.phase, off.allocatedResources, off.resources) == ("Running", {}, None)


def test_without_its_gate_the_condition_of_the_sandbox_is_that_of_others():
    kind = "PodReadyToStartContainers"
    found = PodCondition(type=kind, status="False")
    on, off, kept = (
        [each.status for each in compute(observed({}, conditions=given), node, None).conditions if each.type == kind]
        for given, node in (
            ([found], NODE), ([], replace(NODE, ready_to_start=False)), ([found], replace(NODE, ready_to_start=False)),
        )
    )  # fmt: skip
    assert (len(on), off, kept) == (1, [], ["False"])


@pytest.mark.parametrize(
    ("sandbox", "started", "phase"),
    [("s", False, "Running"), ("earlier", False, "Pending"), ("earlier", True, "Running")],
)
def test_in_a_new_sandbox_a_pod_is_pending_until_its_sidecar_has_started(sandbox, started, phase):
    """A container of an earlier sandbox has ended with that, a sidecar that restarts beside one that runs has not."""
    pod = pod_of(SIDECAR)
    before = look(pod, ran("i", sandbox_id=sandbox), ran(sandbox_id=sandbox))
    found = [ran("i", id="new", sandbox_id="s"), ran(code=137, sandbox_id=sandbox)]
    assert look(pod, *found, before=before, ready=started, waiting=CRASHED).phase == phase


@pytest.mark.parametrize("count", [0, 1])
def test_an_instance_in_the_place_of_one_that_the_runtime_lost_is_a_restart(count):
    pod = pod_of()
    before = look(pod, ran())
    after = look(pod, ran(id="other", attempt=count), before=before)
    assert (after.containerStatuses[0].restartCount, after.phase) == (1, "Running")
    end = present(after.containerStatuses[0].lastState.terminated)
    assert (end.reason, end.exitCode) == ("ContainerStatusUnknown", 137)
    assert look(pod, ran(id="other", attempt=count), before=after).containerStatuses == after.containerStatuses


@pytest.mark.parametrize("seen", [(ran(),), (ran(code=3),), (ran(id="new", attempt=1), ran(id="old", code=3))])
def test_a_container_is_the_same_one_under_another_name_of_the_runtime(seen):
    shown = look(pod_of(), *seen, waiting=CRASHED)
    text = msgspec.json.encode(shown).replace(b"containerd://", b"other://")
    assert b"other://" in text
    before = msgspec.json.decode(text, type=PodStatus)
    assert look(pod_of(), *seen, waiting=CRASHED, before=before).containerStatuses == shown.containerStatuses


observations = st.fixed_dictionaries({
    "containers": st.lists(
        st.builds(
            ran, st.sampled_from(["a", "b", "i"]), st.sampled_from([None, 0, 1]), attempt=st.integers(0, 5),
            id=st.sampled_from(["1", "2", "3"]),
        ),
        max_size=4,
    ),
    "worker_phase": st.sampled_from(["admitting", "running", "terminating", "terminated"]),
    "waiting": st.dictionaries(st.sampled_from(["a", "i"]), st.just(Waiting("CrashLoopBackOff")), max_size=2),
    "ready": st.booleans(),
    "sandbox_ready": st.booleans(),
})  # fmt: skip
specs = st.sampled_from([{}, NEVER, FAILURE, INIT, SIDECAR, {**INIT, **NEVER}])


@given(specs, st.lists(observations, min_size=1, max_size=6), st.sampled_from(["file", "api"]))
def test_counts_only_grow_and_the_final_phase_stays_for_any_observations(spec, history, source):
    spec = {**spec, "containers": [{"name": name, "image": "i"} for name in "ab"]}
    pod = pod_of(spec, annotations={"kubernetes.io/config.source": source})
    status: PodStatus | None = None
    for step, seen in enumerate(history):
        before, containers = status, seen["containers"]
        rest = {key: value for key, value in seen.items() if key != "containers"}
        status = look(pod, *containers, before=before, now=NOW + step * S, **rest)
        assert status.phase in ("Pending", "Running", *TERMINAL_PHASES)
        if status.phase in TERMINAL_PHASES:
            assert of(status, "Ready")[0] == of(status, "ContainersReady")[0] == "False"
            assert before is None or before.phase not in TERMINAL_PHASES or before.phase == status.phase
        elif before is not None:
            assert before.phase not in TERMINAL_PHASES
        for each in status.containerStatuses:
            states = [each.state.waiting, each.state.running, each.state.terminated]
            assert sum(state is not None for state in states) == 1
            old = next((b for b in before.containerStatuses if b.name == each.name), None) if before else None
            assert old is None or old.restartCount <= each.restartCount
        assert before is None or (status.startTime or "") <= (before.startTime or "")
        if of(status, "ContainersReady")[0] == "True":
            assert all(each.ready for each in status.containerStatuses)


def test_a_pod_stays_initialized_while_all_containers_are_created_again():
    before = look(pod_of(INIT), ran("i", code=0), ran())
    waits = {"i": Waiting("RestartingAllContainers"), "a": Waiting("RestartingAllContainers")}
    assert of(look(pod_of(INIT), waiting=waits, before=before), "Initialized") == ("True", "")


def test_a_resize_is_shown_by_conditions_and_by_the_containers_resources():
    small: dict[str, dict[str, str | int | float]] = {"requests": {"cpu": "100m"}}
    big = {"requests": {"cpu": "200m"}}
    pod = pod_of({"containers": [{"name": "a", "image": "i", "resources": big}]})
    has = {"a": ResourceRequirements(requests=small["requests"])}
    moving = look(pod, ran(), resize=Resize(in_progress=True), actual_resources=has)
    assert moving.containerStatuses[0].allocatedResources == big["requests"]
    assert present(moving.containerStatuses[0].resources).requests == small["requests"]
    assert of(moving, "PodResizeInProgress") == ("True", "")
    failed = look(pod, ran(), before=moving, resize=Resize(in_progress=True, error="no"), actual_resources=has)
    assert of(failed, "PodResizeInProgress") == ("True", "Error")
    done = look(pod, ran(), before=failed, resize=Resize("Deferred", "later"))
    assert present(done.containerStatuses[0].resources).requests == big["requests"]
    assert of(done, "PodResizePending") == ("True", "Deferred")
    assert "PodResizeInProgress" not in {each.type for each in done.conditions}
    over = look(pod, ran(code=0), before=done, resize=Resize("Deferred", "later"), worker_phase="terminated")
    assert "PodResizePending" not in {each.type for each in over.conditions}


def test_the_condition_of_a_resize_has_the_generation_of_its_request_and_the_time_of_its_reason():
    def condition(status: PodStatus) -> PodCondition:
        return next(each for each in status.conditions if each.type == "PodResizeInProgress")

    pod = pod_of()
    pod = replace(pod, metadata=replace(pod.metadata, generation=3))
    moving = look(pod, ran(), resize=Resize(in_progress=True, generation=2), now=NOW)
    again = look(pod, ran(), before=moving, resize=Resize(in_progress=True, generation=2), now=NOW + 60 * 10**9)
    failed = look(
        pod, ran(), before=again, resize=Resize(in_progress=True, error="no", generation=2), now=NOW + 120 * 10**9
    )
    assert [condition(one).observedGeneration for one in (moving, again, failed)] == [2, 2, 2]
    assert condition(again).lastTransitionTime == condition(moving).lastTransitionTime
    assert condition(failed).lastTransitionTime != condition(moving).lastTransitionTime
    assert condition(moving).lastProbeTime == condition(moving).lastTransitionTime
    assert condition(again).lastProbeTime == condition(moving).lastProbeTime
    assert condition(failed).lastProbeTime == condition(failed).lastTransitionTime
    assert next(each for each in failed.conditions if each.type == "Ready").lastProbeTime is None


def test_a_mount_is_shown_as_recursively_read_only_if_the_runtime_has_mounted_it_that_way():
    mounts = [{"name": name, "mountPath": f"/{name}", "readOnly": name != "w"} for name in ("r", "all", "w")]
    pod = pod_of({"containers": [{"name": "a", "image": "i", "volumeMounts": mounts}]})
    found = look(pod, ran(recursive_read_only=["/all"])).containerStatuses[0].volumeMounts
    assert [each.recursiveReadOnly for each in found] == ["Disabled", "Enabled", None]


RESTART_ALL = {
    "containers": [
        {"name": "a", "image": "i", "restartPolicy": "Never", "restartPolicyRules": [
            {"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [42]}}]},
        {"name": "b", "image": "i", "restartPolicy": "Never"},
    ],
    "initContainers": [{"name": "i", "image": "x"}],
}  # fmt: skip


def test_only_a_pod_that_can_restart_all_its_containers_has_the_condition():
    pod = pod_of(RESTART_ALL)
    assert of(look(pod, ran("i", code=0), ran(), ran("b")), "AllContainersRestarting") == ("False", "")
    assert all(each.type != "AllContainersRestarting" for each in look(pod_of(), ran()).conditions)
    over = look(pod, ran("i", code=0), ran(code=0), ran("b", code=0), worker_phase="terminated")
    assert of(over, "AllContainersRestarting") == ("False", "PodCompleted")
    failed = look(pod, ran("i", code=0), ran(code=1), ran("b", code=0), worker_phase="terminated")
    assert of(failed, "AllContainersRestarting") == ("False", "PodFailed")


def test_while_all_containers_are_restarted_the_condition_holds_and_each_remembers_its_last_end():
    pod = pod_of(RESTART_ALL)
    up = look(pod, ran("i", code=0, id="i0"), ran(id="a0"), ran("b", code=0, id="b0"))
    asked = look(pod, ran("i", code=0, id="i0"), ran(code=42, id="a0"), ran("b", code=0, id="b0"), before=up)
    assert of(asked, "AllContainersRestarting") == ("True", "RestartAllContainersStarted")
    why = {name: Waiting("RestartingAllContainers") for name in ("i", "a", "b")}
    removing = look(pod, ran(code=42, id="a0"), before=asked, waiting=why)
    assert of(removing, "AllContainersRestarting") == ("True", "RestartAllContainersStarted")
    removed = look(pod, before=removing)
    assert of(removed, "AllContainersRestarting") == ("False", "")
    again = look(
        pod, ran("i", code=0, id="i1", attempt=1), ran(id="a1", attempt=1), ran("b", id="b1", attempt=1), before=removed
    )
    ends = {
        each.name: present(each.lastState.terminated)
        for each in (*again.initContainerStatuses, *again.containerStatuses)
    }
    assert {name: end.exitCode for name, end in ends.items()} == {"i": 0, "a": 42, "b": 0}
    assert [each.state.running is not None for each in again.containerStatuses] == [True, True]


def test_a_container_in_backoff_does_not_restart_the_others_yet():
    waiting = {"a": Waiting("CrashLoopBackOff", "back-off 10s")}
    status = look(pod_of(RESTART_ALL), ran("i", code=0), ran(code=42), ran("b"), waiting=waiting)
    assert of(status, "AllContainersRestarting") == ("False", "")


def test_the_last_end_stays_when_the_runtime_has_collected_the_dead_container():
    crashed = look(pod_of(), ran(id="new", attempt=1), ran(id="old", code=3))
    kept = look(pod_of(), ran(id="new", attempt=1), before=crashed).containerStatuses[0]
    assert present(kept.lastState.terminated).exitCode == 3


def test_a_restart_counts_though_the_runtime_has_forgotten_the_earlier_ones():
    crashed = look(pod_of(), ran(id="old", attempt=5, code=3))
    gone = look(pod_of(), before=crashed)
    for before in (crashed, gone):
        again = look(pod_of(), ran(id="new", attempt=0), before=before)
        later = look(pod_of(), ran(id="new", attempt=0), before=again)
        assert [status.containerStatuses[0].restartCount for status in (again, later)] == [6, 6]
        assert present(later.containerStatuses[0].lastState.terminated).exitCode == 3


def test_the_image_is_the_runtimes_name_of_it():
    full = "docker.io/library/busybox:1.36"
    assert look(pod_of(), ran(resolved_image=full)).containerStatuses[0].image == full
    assert look(pod_of()).containerStatuses[0].image == "i", "it is not created yet"


def test_a_container_that_waits_for_volumes_waits_for_the_pods_initialization_where_it_has_one():
    mounting = {"a": Waiting("ContainerCreating", "volumes: timeout")}
    with_init = present(look(pod_of(INIT), waiting=mounting).containerStatuses[0].state.waiting)
    assert (with_init.reason, with_init.message) == ("PodInitializing", "")
    without = present(look(pod_of(), waiting=mounting).containerStatuses[0].state.waiting)
    assert (without.reason, without.message) == ("ContainerCreating", "")


def test_a_container_of_a_deleted_pod_that_has_ended_does_not_wait_for_a_restart():
    deleted = pod_of()
    deleted = replace(deleted, metadata=replace(deleted.metadata, deletionTimestamp="2026-01-01T00:00:00Z"))
    status = look(deleted, ran(code=1, attempt=1), waiting=CRASHED, worker_phase="terminating")
    assert (present(status.containerStatuses[0].state.terminated).exitCode, status.phase) == (1, "Running")
