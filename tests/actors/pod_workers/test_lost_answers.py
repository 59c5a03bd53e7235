"""Lost and late answers, calls that hang, news that cross what a pod worker does: nothing is done twice, to the wrong
instance, or never."""

from __future__ import annotations

import asyncio
import time
from functools import partial
from typing import Any

import pytest

from actors.container_manager.messages import AdmitPod, PodAdmitted, PodRejected, ResizePod
from actors.image_manager.messages import EnsureImage, ImageReady
from actors.pod_workers.executor.container_stops import MIN_GRACE_SECONDS
from actors.pod_workers.executor.permit import PERMIT_SECONDS
from actors.pod_workers.messages import (
    DesiredPods,
    KillPod,
    PodOperation,
    PodRuntimeChanged,
    ProbeVerdict,
    RuntimePods,
    WantedPod,
)
from actors.pod_workers.pod.orders import PodRemoved
from actors.pod_workers.pod.results import Interrupted
from actors.pod_workers.pod.state_values import AcquiredResources
from actors.shared.cri.model import PodRuntime
from actors.shared.cri.pod_lookup import look
from actors.shared.kube.codec import decode_pod, encode
from actors.shared.kube.pod import PodStatus
from actors.shared.kube.restart_policy import RESTARTING_ALL
from actors.status_manager.containers.container_status_input import Readiness
from actors.status_manager.messages import PodObserved
from actors.status_manager.status.pod_status import compute
from actors.status_manager.status.pod_status_input import PodStatusInput, PodStatusNode
from proto import cri_pb2 as cri
from supervision.actor import Address
from tests.support.fake_cri import Fault
from tests.support.shard_harness import Driven, container, pod

ENDED_WELL = {"restartPolicy": "OnFailure"}


async def up(node: Driven, **spec: Any) -> str:
    """The id of the container of a pod that runs."""
    await node.want(pod(**spec))
    await node.until(lambda: node.running("a"))
    await node.settled()
    return node.containers("a")[-1].id


async def started_after_a_relist(node: Driven) -> PodRuntime:
    """What the PLEG saw last of a pod whose container runs since: the sandbox only."""
    node.answer(EnsureImage, None)
    await node.want(pod())
    await node.until(lambda: bool(node.fake.world.sandboxes))
    await node.settled()
    relisted = await look(node.fake.client(), "u")
    assert not relisted.containers
    node.answer(EnsureImage, lambda question: ImageReady(question.image, question.image))
    await node.pass_time(30)
    await node.until(lambda: node.running("a"))
    return relisted


async def unhealthy(node: Driven, container_id: str) -> None:
    await node.harness.deliver(ProbeVerdict("u", "a", container_id, "liveness", False))
    await node.settled()


def ends_well(node: Driven, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its programs exit with 0 when they are told to end."""
    end = node.fake.world.end
    monkeypatch.setattr(node.fake.world, "end", lambda one, code, *rest: end(one, 0 if code == 143 else code, *rest))


def hooked(when: str, *command: str) -> list[dict[str, Any]]:
    return [container("a", lifecycle={when: {"exec": {"command": list(command)}}})]


# -- started twice -----------------------------------------------------------------------------------------------------
async def test_a_container_started_before_the_runtime_went_away_is_not_started_twice(tmp_path):
    async with Driven(tmp_path) as node:
        node.fake.faults.add("ContainerStatus", Fault(error="UNAVAILABLE", times=1))
        await node.want(pod())
        await node.until(lambda: node.running("a"))
        node.leave_log("a", 0)
        await node.settled()
        await node.pass_time(10)
        assert node.attempts("a") == [0]
        assert node.count_of("StartContainer") == 1
        assert node.observed().sandbox_ready


async def test_a_container_of_a_pod_that_was_removed_and_put_back_is_restarted_once(tmp_path):
    async with Driven(tmp_path) as node:
        node.answer(
            EnsureImage,
            lambda question: None if question.image == "slow" else ImageReady(question.image, question.image),
        )
        wanted = pod(containers=[container("a"), container("b", image="slow")])
        await node.want(wanted)
        await node.until(lambda: node.running("a"))
        node.leave_log("a", 0)
        await node.settled()
        worker = node.shard.pods["u"]
        worker.tell(PodRemoved())
        worker.want(wanted, worker.state.wanted.source)
        await node.settled()
        await node.pass_time(10)
        assert node.attempts("a") == [0, 1]


async def test_a_duplicate_that_the_runtime_had_lost_sight_of_is_ended_once_it_shows_up(tmp_path):
    async with Driven(tmp_path) as node:
        await node.want(pod())
        await node.until(lambda: node.running("a"))
        await node.settled()
        (lost,) = node.fake.world.containers.values()
        node.fake.world.containers.clear()
        node.leave_log("a", 0)
        await node.relist()
        await node.until(lambda: node.attempts("a") == [1] and node.running("a"))
        node.fake.world.containers[lost.id] = lost
        await node.relist()
        await node.until(lambda: lost.state == cri.CONTAINER_EXITED)
        await node.settled()
        assert [one.state for one in node.containers("a")] == [cri.CONTAINER_EXITED, cri.CONTAINER_RUNNING]
        assert node.count_of("CreateContainer") == 2


async def test_a_container_that_the_last_shard_started_after_the_relist_is_not_started_twice(tmp_path):
    async with Driven(tmp_path) as first:
        relisted = await started_after_a_relist(first)
        first.leave_log("a", 0)
    async with Driven(tmp_path, first.fake, first.clock) as second:
        await second.harness.deliver(RuntimePods([relisted], relisted.at))
        await second.sources(pod())
        await second.settled()
        await second.pass_time(5)
        await second.relist()
        assert second.attempts("a") == [0]
        assert second.count_of("StopContainer") == 0


async def test_a_container_whose_sandbox_the_runtime_has_lost_is_ended_before_its_next_instance(tmp_path):
    async with Driven(tmp_path) as node:
        await up(node)
        for sandbox in list(node.fake.world.sandboxes):
            node.fake.world.release(sandbox)
        node.fake.world.sandboxes.clear()
        await node.relist()
        await node.until(lambda: node.attempts("a") == [0, 1] and node.running("a"))
        order = [method for method, _ in node.fake.calls if method in ("StopContainer", "CreateContainer")]
        assert order == ["CreateContainer", "StopContainer", "CreateContainer"]


async def test_a_container_that_cannot_be_started_is_not_tried_again_at_once(tmp_path):
    async with Driven(tmp_path) as node:
        node.fake.faults.add("StartContainer", Fault(error="UNKNOWN"))
        await node.want(pod())
        await node.until(lambda: node.count_of("StartContainer") >= 1)
        await node.settled()
        assert node.count_of("StartContainer") == 1
        await node.pass_time(2)
        assert node.count_of("StartContainer") == 2


# -- hooks ------------------------------------------------------------------------------------------------------------
async def test_the_pre_stop_hook_of_an_unhealthy_container_is_run_once_however_often_its_end_is_tried(tmp_path):
    async with Driven(tmp_path) as node:
        node.fake.faults.add("StopContainer", Fault(error="UNAVAILABLE", times=2))
        ran = await up(node, containers=hooked("preStop", "true"))
        await unhealthy(node, ran)
        await node.pass_time(20)
        assert (node.count_of("StopContainer"), node.count_of("ExecSync")) == (3, 1)
        assert node.attempts("a") == [0, 1]


async def test_a_pod_whose_post_start_hook_hangs_can_be_ended(tmp_path):
    async with Driven(tmp_path) as node:
        await node.want(pod(containers=hooked("postStart", "serve")))
        await node.until(lambda: node.count_of("ExecSync") == 1)
        await node.remove()
        await node.settled()
        assert not node.running("a")


async def test_a_post_start_hook_is_run_though_the_start_was_not_answered(tmp_path):
    async with Driven(tmp_path) as node:
        node.fake.faults.add("StartContainer", Fault(answer_lost=True, times=1))
        await up(node, containers=hooked("postStart", "true"))
        await node.pass_time(60)
        assert (node.count_of("ExecSync"), node.attempts("a"), node.waiting()) == (1, [0], "")


async def test_an_interrupted_post_start_hook_runs_again_without_harm(tmp_path):
    async with Driven(tmp_path) as node:
        node.fake.faults.add("ExecSync", Fault(error="UNAVAILABLE", times=1))
        node.fake.faults.add("ContainerStatus", Fault(error="UNAVAILABLE", times=1))
        await up(node, containers=hooked("postStart", "true"))
        await node.pass_time(60)
        assert (node.count_of("ExecSync"), node.count_of("StopContainer"), node.attempts("a")) == (2, 0, [0])


async def test_a_container_with_a_failed_post_start_hook_is_killed_after_a_retry(tmp_path):
    async with Driven(tmp_path) as node:
        node.fake.faults.add("StopContainer", Fault(error="UNAVAILABLE", times=1))
        await node.want(pod(containers=hooked("postStart", "false"), restartPolicy="Never"))
        await node.until(lambda: node.count_of("StopContainer") == 1)
        await node.pass_time(20)
        assert not node.running("a")
        assert node.count_of("ExecSync") == 1


# -- ended, and sooner ------------------------------------------------------------------------------------------------
async def test_less_grace_cuts_short_the_end_of_an_unhealthy_container(tmp_path):
    async with Driven(tmp_path) as node:
        node.fake.faults.add("StopContainer", Fault(hang=True, times=1))
        ran = await up(node, terminationGracePeriodSeconds=3600)
        await unhealthy(node, ran)
        await node.until(lambda: node.count_of("StopContainer") == 1)
        deleted = {"deletionTimestamp": "2023-11-14T22:13:20Z", "deletionGracePeriodSeconds": 1}
        await node.want(pod(terminationGracePeriodSeconds=3600, metadata=deleted))
        await node.pass_time(5)
        assert not node.running("a")


async def test_sandboxes_that_hang_hold_up_no_other_for_long(tmp_path):
    async with Driven(tmp_path) as node:
        node.fake.faults.add("RunPodSandbox", Fault(hang=True, times=4))
        for number in range(4):
            await node.want(pod(f"u{number}", f"p{number}"))
        await node.until(lambda: node.count_of("RunPodSandbox") == 4)
        await node.want(pod("v", "q"))
        await node.settled()
        assert node.count_of("RunPodSandbox") == 4
        await node.pass_time(PERMIT_SECONDS)
        await node.until(lambda: node.running("a"))


async def test_a_pod_that_waits_for_others_that_hang_can_be_ended(tmp_path):
    async with Driven(tmp_path) as node:
        await node.sources()
        await node.first_look()
        node.fake.faults.add("RunPodSandbox", Fault(hang=True, times=4))
        for number in range(4):
            await node.want(pod(f"u{number}", f"p{number}"))
        await node.until(lambda: node.count_of("RunPodSandbox") == 4)
        await node.want(pod("v", "q"))
        await node.settled()
        for uid in ("v", "u0"):
            await node.remove(uid)
        await node.pass_time(5)
        assert (node.stage("v"), node.stage("u0"), node.stage("u1")) == ("gone", "gone", "running")


async def test_a_container_that_appears_after_the_end_of_its_pod_is_stopped(tmp_path):
    async with Driven(tmp_path) as node:
        await up(node)
        sandboxes, containers = dict(node.fake.world.sandboxes), dict(node.fake.world.containers)
        node.fake.world.sandboxes.clear()
        node.fake.world.containers.clear()
        await node.harness.deliver(KillPod("u", "Evicted", "x", 1))
        await node.settled()
        assert node.stage() == "terminated"
        node.fake.world.sandboxes.update(sandboxes)
        node.fake.world.containers.update(containers)
        await node.relist()
        assert not node.running("a")
        assert not any(one.ready for one in node.fake.world.sandboxes.values())
        assert node.stage() == "terminated"


async def test_a_container_that_appears_during_cleanup_is_stopped(tmp_path, monkeypatch):
    async with Driven(tmp_path) as node:
        await node.sources()
        await node.first_look()
        await up(node)
        late = node.shard.services.starter.sandbox_config(pod(), 7, AcquiredResources(cgroup_parent="/kubepods/podu"))
        remove = node.shard.disposable
        removed: list[Any] = []

        async def meanwhile(*args, **more):
            if not removed:
                removed.append(args)
                await node.fake.client().run_pod_sandbox(late)
                node.shard.on_runtime_changed(
                    PodRuntimeChanged("u", await look(node.fake.client(), "u")), Address("pleg")
                )
            return await remove(*args, **more)

        monkeypatch.setattr("actors.shared.linux.removal.FEW_FILES", 0)  # a process removes them
        monkeypatch.setattr(node.shard, "disposable", meanwhile)
        await node.remove()
        await node.until(lambda: bool(removed))
        await node.pass_time(5)
        assert not node.fake.world.sandboxes


async def test_running_containers_of_a_rejected_pod_are_stopped(tmp_path):
    sysctls = {"sysctls": [{"name": "kernel.msgmax", "value": "1"}]}
    async with Driven(tmp_path, allowedUnsafeSysctls=["kernel.msg*"]) as first:
        await up(first, securityContext=sysctls)
    async with Driven(tmp_path, first.fake, first.clock) as second:
        second.answer(AdmitPod, lambda question: PodRejected(question.uid, "SysctlForbidden", "not allowlisted"))
        await second.first_look()
        await second.sources(pod(securityContext=sysctls))
        await second.until(lambda: second.stage() == "terminated")
        assert not second.running("a")
        assert second.observed().reason == "SysctlForbidden"


# -- stopped in order to be restarted ----------------------------------------------------------------------------------
async def test_an_unhealthy_container_is_restarted_though_it_exits_with_0(tmp_path, monkeypatch):
    async with Driven(tmp_path) as node:
        ran = await up(node, **ENDED_WELL)
        ends_well(node, monkeypatch)
        await unhealthy(node, ran)
        await node.relist()
        await node.pass_time(20)
        assert (node.attempts("a"), node.stage(), node.running("a")) == ([0, 1], "running", True)


async def test_a_container_with_a_new_image_is_restarted_under_any_policy(tmp_path):
    async with Driven(tmp_path) as node:
        await up(node, restartPolicy="Never")
        node.answer(EnsureImage, lambda question: ImageReady(question.image, "busybox"))
        await node.want(pod(restartPolicy="Never", containers=[{**container("a"), "image": "busybox:2"}]))
        await node.settled()
        await node.pass_time(20)
        assert (node.attempts("a"), node.stage(), node.running("a")) == ([0, 1], "running", True)
        await node.end("a", 1)
        await node.pass_time(20)
        assert node.stage() == "terminated"


async def test_a_resize_by_restart_restarts_a_container_though_it_exits_with_0(tmp_path, monkeypatch):
    def wanting(cpu: str) -> list[dict[str, Any]]:
        by_restart = [{"resourceName": "cpu", "restartPolicy": "RestartContainer"}]
        return [container("a", resources={"requests": {"cpu": cpu}}, resizePolicy=by_restart)]

    async with Driven(tmp_path) as node:
        node.answer(ResizePod, lambda question: PodAdmitted(question.uid, f"/kubepods/pod{question.uid}"))
        await up(node, containers=wanting("100m"), **ENDED_WELL)
        ends_well(node, monkeypatch)
        await node.want(pod(containers=wanting("200m"), **ENDED_WELL))
        await node.settled()
        await node.relist()
        await node.pass_time(20)
        assert (node.attempts("a"), node.stage(), node.running("a")) == ([0, 1], "running", True)


# -- what is told -----------------------------------------------------------------------------------------------------
async def test_an_init_container_with_an_unanswered_creation_is_not_waited_for_once_it_ran(tmp_path):
    for method in ("CreateContainer", "StartContainer"):
        async with Driven(tmp_path / method) as node:
            node.fake.faults.add(method, Fault(answer_lost=True, times=1))
            await node.want(pod(initContainers=[container("i")]))
            await node.until(partial(bool, node.fake.world.containers))
            await node.settled()
            await node.pass_time(20)
            await node.end("i")
            await node.until(partial(node.running, "a"))
            await node.settled()
            assert node.waiting("i") == ""


async def test_a_container_that_a_new_pleg_does_not_see_is_started_again(tmp_path):
    async with Driven(tmp_path) as node:
        await up(node)
        node.leave_log("a", 0)
        (sandbox,) = node.fake.world.sandboxes
        await node.fake.client().stop_pod_sandbox(sandbox)
        await node.fake.client().remove_pod_sandbox(sandbox)
        await node.harness.deliver(RuntimePods([], time.monotonic()))
        await node.until(lambda: node.running("a"))
        assert node.attempts("a") == [1]


async def test_a_runtime_event_from_before_the_sandbox_ends_no_shard(tmp_path):
    async with Driven(tmp_path) as node:
        node.fake.faults.add("StartContainer", Fault(delay=0.05, times=1))
        await node.want(pod())
        await node.until(lambda: node.count_of("StartContainer") == 1)
        await node.harness.deliver(PodRuntimeChanged("u", PodRuntime(uid="u", at=time.monotonic())))
        await node.until(lambda: node.running("a"))
        await asyncio.sleep(0)
        await node.settled()
        assert node.attempts("a") == [0]


# -- what the API shows -----------------------------------------------------------------------------------------------
def shown(node: Driven) -> PodStatus:
    """What the status manager makes of all that it was told."""
    status, well = None, Readiness(started=True, ready=True)
    for seen in node.harness.sent(PodObserved, "status_manager"):
        observation = PodStatusInput(seen, decode_pod(seen.pod), lambda *_: well, round(node.clock() * 1e9))
        status = compute(observation, PodStatusNode(["192.0.2.1"]), status)
    assert status is not None
    return status


async def test_a_container_that_was_restarted_is_shown_as_running(tmp_path):
    async with Driven(tmp_path) as node:
        await up(node, restartPolicy="Never")
        node.answer(EnsureImage, lambda question: ImageReady(question.image, "busybox"))
        await node.want(pod(restartPolicy="Never", containers=[{**container("a"), "image": "busybox:2"}]))
        await node.settled()
        await node.pass_time(20)
        (one,) = shown(node).containerStatuses
        assert (one.state.running is not None, one.restartCount) == (True, 1)
        await node.end("a", 0)
        await node.pass_time(20)
        assert (node.stage(), shown(node).phase) == ("terminated", "Succeeded")


async def test_containers_that_are_all_restarted_are_shown_as_running_though_that_takes_two_tries(tmp_path):
    rules = [{"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [88]}}]
    first = container("a", restartPolicyRules=rules, restartPolicy="Never")
    async with Driven(tmp_path) as node:
        await up(node, restartPolicy="Never", containers=[first, container("b")])
        for name in ("a", "b"):
            node.leave_log(name, 0)
        node.fake.faults.add("StopContainer", Fault(delay=0.05, times=1))
        node.fake.faults.add("RemoveContainer", Fault(error="UNAVAILABLE", times=1))
        await node.end("a", 88)
        await node.until(lambda: node.count_of("StopContainer") == 1)
        await node.relist()
        assert node.shard.pods["u"].state.waiting["b"].reason == RESTARTING_ALL
        await node.until(lambda: node.count_of("RemoveContainer") >= 1)
        for _ in range(4):
            await node.relist()
            await node.pass_time(10)
        assert [one.state.running is not None for one in shown(node).containerStatuses] == [True, True]


async def test_a_new_shard_reports_no_status_older_than_the_last_shards(tmp_path):
    async with Driven(tmp_path) as first:
        relisted = await started_after_a_relist(first)
    for pods in ([relisted], []):
        async with Driven(tmp_path, first.fake, first.clock) as second:
            second.shard.on_desired(DesiredPods([WantedPod("u", encode(pod()))], True), Address("pod_config"))
            second.shard.on_runtime_pods(RuntimePods(pods, relisted.at), Address("pleg"))
            await second.settled()
            await second.pass_time(5)
            told = second.harness.sent(PodObserved, "status_manager")
            assert told
            assert all(one.runtime is not None and one.runtime.containers for one in told)


# -- crossed ----------------------------------------------------------------------------------------------------------
async def test_a_pre_stop_hook_that_never_reached_the_runtime_is_run_with_the_next_try(tmp_path):
    async with Driven(tmp_path) as node:
        ran = await up(node, containers=hooked("preStop", "true"))
        for method in ("ExecSync", "StopContainer"):
            node.fake.faults.add(method, Fault(error="UNAVAILABLE", times=1))
        await unhealthy(node, ran)
        await node.pass_time(20)
        assert (node.attempts("a"), node.count_of("ExecSync")) == ([0, 1], 2)


async def test_an_order_that_arrives_during_a_status_call_takes_effect(tmp_path):
    async with Driven(tmp_path) as node:
        ran = await up(node, terminationGracePeriodSeconds=3600)
        node.shard.pods["u"].tell(Interrupted())
        node.fake.faults.add("ListContainers", Fault(delay=0.05, times=1))
        before = node.count_of("ListContainers")
        await node.harness.deliver(ProbeVerdict("u", "a", ran, "liveness", False))
        await node.until(lambda: node.count_of("ListContainers") > before)
        await node.harness.deliver(KillPod("u", "Evicted", "x", 1))
        await node.until(lambda: node.count_of("StopContainer") == 1)
        assert [one.timeout for one in node.fake.requests_for("StopContainer")] == [MIN_GRACE_SECONDS]


async def test_a_container_with_a_withdrawn_restart_ends_finally(tmp_path):
    async with Driven(tmp_path) as node:
        await up(node, **ENDED_WELL)
        node.answer(EnsureImage, lambda question: ImageReady(question.image, "busybox"))
        node.fake.faults.add("StopContainer", Fault(error="UNKNOWN", times=1))
        await node.want(pod(containers=[{**container("a"), "image": "busybox:2"}], **ENDED_WELL))
        await node.settled()
        await node.want(pod(**ENDED_WELL))
        await node.pass_time(60)
        assert (node.count_of("StopContainer"), node.running("a")) == (1, True)
        await node.end("a", 0)
        await node.pass_time(60)
        assert (node.stage(), node.attempts("a")) == ("terminated", [0])


async def test_a_deletion_is_never_reverted(tmp_path):
    async with Driven(tmp_path) as node:
        await up(node)
        deleted = {"deletionTimestamp": "2023-11-14T22:13:20Z", "deletionGracePeriodSeconds": 1}
        await node.harness.deliver(PodOperation("set", "u", encode(pod(metadata=deleted))))
        await node.sources(pod())
        await node.pass_time(5)
        assert not node.running("a")
