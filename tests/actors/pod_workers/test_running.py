"""A shard on a fake runtime: pods come up, stay up, and are adopted as they are."""

from __future__ import annotations

import asyncio
import itertools
from functools import partial

import msgspec
import pytest

from actors.api_clients.event_client.messages import RecordEvent
from actors.api_clients.kube_client.messages import ApiAnswer, ApiCall
from actors.container_manager.messages import AdmitPod, PodAdmitted, PodRejected
from actors.image_manager.messages import EnsureImage, ImageFailed, ImageReady
from actors.pod_workers.messages import ProbeVerdict
from actors.pod_workers.pod.results import RuntimeObserved
from actors.shared.cri.model import CriContainerState
from actors.shared.cri.pod_lookup import look
from actors.status_manager.messages import PodObserved
from actors.volume_manager.messages import MountVolumes, UnmountVolumes, VolumesFailed, VolumesMounted
from supervision.actor import AskError, AskTimeout
from tests.support.fake_cri import Fault
from tests.support.shard_harness import Driven, container, pod


async def test_a_pod_comes_up_in_its_cgroup_with_its_labels(tmp_path):
    async with Driven(tmp_path) as node:
        await node.want(pod())
        await node.until(lambda: node.running("a"))
        (sandbox,) = node.fake.world.sandboxes.values()
        assert sandbox.config.linux.cgroup_parent == "/kubepods/podu"
        (made,) = node.containers("a")
        assert made.config.labels["io.kubernetes.pod.uid"] == "u"
        await node.settled()
        observed = node.observed()
        assert (observed.worker_phase, observed.waiting, observed.sandbox_ready) == ("running", {}, True)


async def test_a_running_pod_causes_no_calls_to_the_runtime(tmp_path):
    async with Driven(tmp_path) as node:
        await node.want(pod())
        await node.until(lambda: node.running("a"))
        await node.settled()
        calls = len(node.fake.calls)
        await node.want(pod())
        await node.pass_time(300)
        assert len(node.fake.calls) == calls


async def test_init_containers_come_one_after_the_other_before_the_rest(tmp_path):
    inits = [container("i1"), container("i2")]
    async with Driven(tmp_path) as node:
        await node.want(pod(initContainers=inits))
        await node.until(lambda: node.running("i1"))
        assert node.containers("i2") == []
        await node.end("i1")
        await node.until(lambda: node.running("i2"))
        assert node.containers("a") == []
        await node.end("i2")
        await node.until(lambda: node.running("a"))


async def test_a_sidecar_keeps_running_while_the_others_start(tmp_path):
    inits = [container("side", restartPolicy="Always"), container("i2")]
    async with Driven(tmp_path) as node:
        await node.want(pod(initContainers=inits))
        await node.until(lambda: node.running("i2"))
        await node.end("i2")
        await node.until(lambda: node.running("a"))
        assert node.running("side")


async def test_a_container_that_crashes_again_and_again_waits_longer_each_time(tmp_path):
    async with Driven(tmp_path) as node:
        await node.want(pod())
        await node.until(lambda: node.running("a"))
        await node.end("a", 1)
        await node.until(lambda: node.running("a"), "the first restart, at once")
        for count, pause in ((1, 10), (2, 20), (3, 40)):
            await node.end("a", 1)
            assert node.waiting() == "CrashLoopBackOff"
            await node.pass_time(pause - 1)
            assert not node.running("a"), f"{pause} s are not over"
            await node.pass_time(1)
            await node.until(lambda: node.running("a"), f"restart {count + 1}")
            assert max(node.attempts("a")) == count + 1
        assert node.waiting() == ""


async def test_only_the_last_dead_instance_and_its_log_are_kept(tmp_path):
    async with Driven(tmp_path) as node:
        await node.want(pod())
        for _ in range(4):
            await node.until(lambda: node.running("a"))
            await node.settled()
            await node.end("a", 1)
            await node.pass_time(300)
        assert node.attempts("a") == [3, 4]


async def test_another_incarnation_adopts_running_containers_and_continues_their_counts(tmp_path):
    async with Driven(tmp_path) as first:
        await first.want(pod())
        await first.until(lambda: first.running("a"))
        await first.end("a", 1)
        await first.until(lambda: first.running("a"))
        await first.settled()
    made = (first.count_of("RunPodSandbox"), first.count_of("CreateContainer"))
    async with Driven(tmp_path, first.fake, first.clock) as second:
        await second.sources(pod())
        await second.first_look()
        await second.settled()
        assert (second.count_of("RunPodSandbox"), second.count_of("CreateContainer")) == made
        assert second.count_of("StopContainer") == 0
        await second.end("a", 1)
        assert second.waiting() == "CrashLoopBackOff", "the pause goes by the crashes before"
        await second.pass_time(10)
        await second.until(lambda: second.running("a"))
        assert max(second.attempts("a")) == 2


async def test_a_container_created_by_a_dead_incarnation_is_started_not_created_again(tmp_path):
    async with Driven(tmp_path) as first:
        first.fake.faults.add("StartContainer", Fault(hang=True))
        await first.want(pod())
        await first.until(lambda: first.count_of("StartContainer") == 1)
    first.fake.faults.clear()
    async with Driven(tmp_path, first.fake, first.clock) as second:
        await second.sources(pod())
        await second.until(lambda: second.running("a"))
        assert second.count_of("CreateContainer") == 1


async def test_a_lost_sandbox_is_replaced_with_everything_in_it(tmp_path):
    async with Driven(tmp_path) as node:
        await node.want(pod())
        await node.until(lambda: node.running("a"))
        await node.settled()
        (box,) = node.fake.world.sandboxes
        await node.fake.client().stop_pod_sandbox(box)
        await node.relist()
        await node.until(lambda: node.running("a"))
        assert node.count_of("RunPodSandbox") == 2
        assert max(node.attempts("a")) == 1


async def test_a_container_without_a_healthy_liveness_probe_is_replaced(tmp_path):
    async with Driven(tmp_path) as node:
        await node.want(pod())
        await node.until(lambda: node.running("a"))
        await node.settled()
        (made,) = node.containers("a")
        await node.harness.deliver(ProbeVerdict("u", "a", made.id, "liveness", False, "no answer"))
        await node.until(lambda: node.attempts("a")[-1:] == [1] and node.running("a"))


async def test_a_changed_image_replaces_the_container_only(tmp_path):
    two = [container("a"), container("b")]
    async with Driven(tmp_path) as node:
        await node.want(pod(containers=two))
        await node.until(lambda: node.running("b"))
        await node.settled()
        await node.want(pod(containers=[{**two[0], "image": "busybox:2"}, two[1]]))
        node.fake.images.here["docker.io/library/busybox:2"] = 1
        await node.until(lambda: 1 in node.attempts("a"))
        assert node.attempts("b") == [0]
        assert node.count_of("RunPodSandbox") == 1


# -- what is not to be had at once ------------------------------------------------------------------------------------
@pytest.mark.parametrize(("label", "stage"), [("here", "running"), ("elsewhere", "rejected"), ("", "rejected")])
async def test_a_node_that_does_not_match_is_read_again_before_the_pod_is_refused(tmp_path, label, stage):
    def admitted(question: AdmitPod) -> PodAdmitted | PodRejected:
        if question.node is not None and (question.node.metadata.labels or {}).get("zone") == "here":
            return PodAdmitted(question.uid, "/kubepods/podu")
        return PodRejected(question.uid, "NodeAffinity", "no match")

    async with Driven(tmp_path, joined=True) as node:
        body = msgspec.json.encode({"metadata": {"name": "n", "labels": {"zone": label}}})
        node.answer(ApiCall, ApiAnswer(status=200, body=body) if label else AskError("late"))
        node.answer(AdmitPod, admitted)
        await node.want(pod(nodeSelector={"zone": "here"}))
        await node.until(lambda: node.stage() == stage)


async def test_a_pod_that_may_not_run_here_is_refused_and_leaves_nothing(tmp_path):
    async with Driven(tmp_path) as node:
        node.answer(AdmitPod, lambda question: PodRejected(question.uid, "OutOfcpu", "no cpu left"))
        await node.sources(pod(volumes=[{"name": "data", "emptyDir": {}}]))
        await node.first_look()
        await node.until(lambda: node.stage() == "rejected")
        assert not [question for _, question in node.harness.asks if isinstance(question, MountVolumes)]
        assert (node.observed().reason, node.observed().message) == ("OutOfcpu", "Pod was rejected: no cpu left")
        assert node.count_of("RunPodSandbox") == 0
        await node.remove()
        await node.until(lambda: node.stage() == "gone")


async def test_an_image_that_cannot_be_pulled_is_reported_then_waited_for(tmp_path):
    failures = [ImageFailed("busybox", "ErrImagePull", "no such image", retry_seconds=10.0)]
    failures.append(ImageFailed("busybox", "ImagePullBackOff", "Back-off", retry_seconds=5.0))
    async with Driven(tmp_path) as node:
        node.answer(
            EnsureImage, lambda question: failures.pop(0) if failures else ImageReady(question.image, question.image)
        )
        await node.want(pod())
        await node.until(lambda: node.count_of("RunPodSandbox") == 1)
        await node.settled()
        assert node.waiting() == "ErrImagePull"
        await node.pass_time(5)
        assert node.waiting() == "ImagePullBackOff"
        await node.pass_time(5)
        await node.until(lambda: node.running("a"))
        await node.settled()
        assert node.waiting() == ""


async def test_a_pod_is_ready_to_start_containers_while_its_image_is_still_pulled(tmp_path):
    pulled: asyncio.Future[ImageReady] = asyncio.Future()

    async def pull(question: EnsureImage) -> ImageReady:
        return await pulled

    async with Driven(tmp_path) as node:
        node.answer(EnsureImage, pull)
        await node.want(pod())
        await node.until(lambda: any(one.sandbox_ready for one in node.harness.sent(PodObserved)))
        assert not node.containers("a")
        pulled.set_result(ImageReady("busybox", "busybox"))
        await node.until(lambda: node.running("a"))


async def test_a_pod_waits_for_its_volumes(tmp_path):
    volumes = [{"name": "data", "emptyDir": {}}]
    answers = [VolumesFailed("u", "no space left")]
    async with Driven(tmp_path) as node:
        node.answer(
            MountVolumes, lambda question: answers.pop() if answers else VolumesMounted(question.uid, {"data": "/x"})
        )
        await node.want(pod(volumes=volumes))
        await node.until(lambda: not answers)
        await node.settled()
        assert (node.waiting(), node.observed().waiting["a"].message) == ("ContainerCreating", "no space left")
        assert [one.reason for one in node.harness.sent(RecordEvent) if one.type == "Warning"] == ["FailedMount"]
        await node.pass_time(1)
        await node.until(lambda: node.running("a"))


async def test_files_with_fields_of_a_pod_are_written_again_when_these_change_and_not_when_it_is_deleted(tmp_path):
    items = [{"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}}]
    volumes = [{"name": "data", "downwardAPI": {"items": items}}]

    def mounts() -> int:
        return len([one for _, one in node.harness.asks if isinstance(one, MountVolumes)])

    async with Driven(tmp_path) as node:
        node.answer(MountVolumes, lambda question: VolumesMounted(question.uid, {"data": "/x"}))
        await node.want(pod(volumes=volumes))
        await node.until(lambda: node.running("a"))
        assert mounts() == 1
        await node.want(pod(volumes=volumes, metadata={"labels": {"a": "b"}}))
        await node.until(lambda: mounts() == 2)
        end = {"deletionTimestamp": "2026-01-01T00:00:00Z", "deletionGracePeriodSeconds": 1}
        await node.want(pod(volumes=volumes, metadata={"labels": {"a": "b"}, **end}))
        await node.until(lambda: not node.running("a"))
        assert mounts() == 2


def _has(updates: list[MountVolumes], count: int) -> bool:
    return len(updates) == count


async def test_an_update_of_a_pods_files_that_is_not_answered_is_repeated(tmp_path):
    items = [{"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}}]
    volumes = [{"name": "data", "downwardAPI": {"items": items}}]
    async with Driven(tmp_path) as node:
        node.answer(MountVolumes, lambda question: VolumesMounted(question.uid, {"data": "/x"}))
        await node.want(pod(volumes=volumes))
        await node.until(lambda: node.running("a"))
        failures = [AskTimeout("no answer within 130 s"), AskError("died")]
        updates: list[MountVolumes] = []

        def answer(question: MountVolumes) -> VolumesMounted:
            updates.append(question)
            if failures:
                raise failures.pop(0)
            return VolumesMounted(question.uid, {"data": "/x"})

        node.answer(MountVolumes, answer)
        await node.want(pod(volumes=volumes, metadata={"labels": {"a": "b"}}))
        for count in (1, 2, 3):
            await node.until(partial(_has, updates, count))
            await node.pass_time(5)
        assert b'"a":"b"' in updates[-1].pod.replace(b" ", b"")
        await node.pass_time(60)
        assert len(updates) == 3


async def test_groups_that_its_volumes_need_are_groups_of_the_sandbox_and_the_containers(tmp_path):
    async with Driven(tmp_path) as node:
        node.answer(MountVolumes, lambda question: VolumesMounted(question.uid, {"data": "/x"}, [1234, 7]))
        claim = {"name": "data", "persistentVolumeClaim": {"claimName": "c"}}
        await node.want(pod(volumes=[claim], securityContext={"supplementalGroups": [7, 8]}))
        await node.until(lambda: node.running("a"))
        (sandbox,) = node.fake.world.sandboxes.values()
        for made in (sandbox.config, node.containers("a")[0].config):
            assert list(made.linux.security_context.supplemental_groups) == [7, 8, 1234]


async def test_without_a_network_only_pods_of_the_hosts_start(tmp_path):
    async with Driven(tmp_path) as node:
        await node.health(network=False, message="cni plugin not initialized")
        await node.want(pod())
        await node.want(pod("h", "host", hostNetwork=True, containers=[container("h")]))
        await node.until(lambda: node.running("h"))
        assert not node.running("a")
        assert "cni plugin not initialized" in node.observed().waiting["a"].message
        await node.health()
        await node.until(lambda: node.running("a"))


async def test_no_sandbox_is_created_before_the_runtime_reports_a_network(tmp_path):
    async with Driven(tmp_path, asked=False) as node:
        await node.want(pod())
        await node.first_look()
        await node.pass_time(5)
        assert node.count_of("RunPodSandbox") == 0
        assert "NetworkNotReady" not in dict(node.events())
        await node.health()
        await node.until(lambda: node.running("a"))


async def test_a_call_to_an_unavailable_runtime_is_retried(tmp_path):
    async with Driven(tmp_path) as node:
        node.fake.faults.add("*", Fault(error="UNAVAILABLE", times=2))
        await node.want(pod())
        await node.until(lambda: node.count_of("ListPodSandbox") >= 1)
        for _ in range(5):
            await node.pass_time(10)
        await node.until(lambda: node.running("a"))
        assert node.attempts("a") == [0]


@pytest.mark.parametrize("method", ["RunPodSandbox", "CreateContainer"])
async def test_a_container_whose_creation_was_not_answered_is_adopted(tmp_path, method):
    async with Driven(tmp_path) as node:
        node.fake.faults.add(method, Fault(answer_lost=True, times=1))
        await node.want(pod())
        await node.settled()
        for _ in range(3):
            await node.pass_time(10)
        await node.until(lambda: node.running("a"))
        assert (len(node.fake.world.sandboxes), node.attempts("a")) == (1, [0])


async def test_a_hanging_sandbox_delays_no_other_pod(tmp_path):
    async with Driven(tmp_path) as node:
        node.fake.faults.add("RunPodSandbox", Fault(hang=True, times=1))
        await node.want(pod("slow", "slow"))
        await node.until(lambda: node.count_of("RunPodSandbox") == 1)
        await node.want(pod())
        await node.until(lambda: node.running("a"))


async def test_a_missing_command_is_an_error_of_its_container_only(tmp_path):
    async with Driven(tmp_path) as node:
        await node.want(pod(containers=[container("a", ["/missing"]), container("b")]))
        await node.until(lambda: node.running("b"))
        await node.settled()
        assert node.waiting() == "RunContainerError"
        await node.pass_time(30)
        assert node.waiting() in ("RunContainerError", "CrashLoopBackOff")
        assert node.attempts("b") == [0]


async def test_the_event_of_a_failed_start_names_the_container_in_place_of_its_id(tmp_path, monkeypatch):
    async with Driven(tmp_path) as node:
        ids = (f"{number:064x}" for number in itertools.count(1))
        monkeypatch.setattr(node.fake.world, "new_id", lambda: next(ids))
        container_id = f"{2:064x}"
        node.fake.faults.add(
            "StartContainer", Fault(error="UNKNOWN", details=f"task {container_id} is broken", times=1)
        )
        await node.want(pod())
        await node.until(lambda: node.waiting() == "RunContainerError")
        assert node.observed().waiting["a"].message == f"task {container_id} is broken"
        assert ("Failed", "Error: task a is broken") in node.events()


# -- pods that come to an end by themselves ---------------------------------------------------------------------------
async def test_a_complete_pod_releases_its_resources_and_keeps_its_dead_containers(tmp_path):
    async with Driven(tmp_path) as node:
        await node.want(pod(restartPolicy="Never"))
        await node.until(lambda: node.running("a"))
        await node.settled()
        await node.end("a")
        await node.until(lambda: any(isinstance(asked, UnmountVolumes) for _, asked in node.harness.asks))
        await node.settled()
        assert node.stage() == "terminated"
        runtime = node.observed().runtime
        assert runtime is not None
        assert [one.exit_code for one in runtime.containers] == [0]


async def test_a_complete_pod_is_not_run_again_by_another_incarnation(tmp_path):
    async with Driven(tmp_path) as first:
        await first.want(pod(restartPolicy="OnFailure"))
        await first.until(lambda: first.running("a"))
        await first.settled()
        await first.end("a")
        await first.until(lambda: first.stage() == "terminated")
    async with Driven(tmp_path, first.fake, first.clock) as second:
        await second.sources(pod(restartPolicy="OnFailure"))
        await second.first_look()
        await second.until(lambda: second.stage() == "terminated")
        await second.pass_time(300)
        assert (second.count_of("RunPodSandbox"), second.count_of("CreateContainer")) == (1, 1)


async def test_an_exit_that_restarts_all_starts_every_container_again_and_continues_counts(tmp_path):
    rule = {"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [88]}}
    first = container("a", restartPolicy="Never", restartPolicyRules=[rule])
    init = container("i")
    async with Driven(tmp_path) as node:
        await node.want(pod(containers=[first, container("b")], initContainers=[init], restartPolicy="Never"))
        await node.until(lambda: len(node.containers("i")) == 1)
        await node.end("i")
        await node.until(lambda: node.running("a") and node.running("b"))
        for name in ("a", "b", "i"):
            node.leave_log(name, 0)
        await node.end("a", 88)
        await node.until(lambda: node.attempts("i") == [1])
        assert not node.containers("a")
        assert not node.containers("b")
        assert node.waiting("b") == "RestartingAllContainers"
        told = [one.runtime for one in node.harness.sent(PodObserved, "status_manager") if one.runtime is not None]
        ends = [ran for runtime in told for ran in runtime.containers if ran.state is CriContainerState.EXITED]
        assert {ran.name for ran in ends} == {"i", "a", "b"}  # told before the runtime forgot them
        await node.end("i")
        await node.until(lambda: node.running("a") and node.running("b"))
        assert (node.attempts("a"), node.attempts("b")) == ([1], [1])
        assert node.count_of("RunPodSandbox") == 1


async def test_a_slow_look_does_not_overwrite_a_later_one_of_the_pleg(tmp_path):
    async with Driven(tmp_path) as node:
        await node.want(pod())
        await node.until(lambda: node.running("a"))
        await node.settled()
        worker = node.shard.pods["u"]
        older = await look(node.fake.client(), "u")
        await node.end("a", 1)
        before = worker.state.runtime
        assert before is not None
        worker.tell(RuntimeObserved(older))
        assert worker.state.runtime is before
