"""What users are told of a pod's life, in the words that they know."""

from __future__ import annotations

from functools import partial

import pytest

from actors.api_clients.event_client.messages import RecordEvent
from actors.image_manager.messages import EnsureImage, ImageFailed, ImageReady
from actors.pod_workers.messages import ProbeVerdict, RetryMounts
from actors.volume_manager.messages import VOLUME_MANAGER, MountVolumes, VolumeEvent, VolumesFailed, VolumesMounted
from supervision.process_messages import Hello
from tests.support.shard_harness import Driven, container, pod


def told(node: Driven, reason: str) -> list[tuple[str, str]]:
    """Text and field of the events with that reason."""
    return [(one.message, one.field) for one in node.harness.sent(RecordEvent) if one.reason == reason]


def was_told(node: Driven, reason: str) -> bool:
    return told(node, reason) != []


async def test_each_container_that_is_stopped_is_reported_once(tmp_path):
    async with Driven(tmp_path) as node:
        await node.want(pod(containers=[container("a"), container("b")]))
        await node.until(lambda: node.running("a") and node.running("b"))
        await node.remove()
        await node.until(lambda: node.stage() == "gone")
        assert sorted(told(node, "Killing")) == [
            ("Stopping container a", "spec.containers{a}"),
            ("Stopping container b", "spec.containers{b}"),
        ]


async def test_the_image_of_a_volume_that_cannot_be_pulled_is_an_event_of_the_pod(tmp_path):
    def of(asked: EnsureImage) -> ImageReady | ImageFailed:
        if asked.image == "busybox":
            return ImageReady(asked.image, asked.image)
        return ImageFailed(asked.image, "ErrImagePull", "no such host", 10.0, event="Failed to pull")

    async with Driven(tmp_path) as node:
        node.answer(EnsureImage, of)
        volume = {"name": "v", "image": {"reference": "data:1"}}
        main = container("a", volumeMounts=[{"name": "v", "mountPath": "/v"}])
        await node.want(pod(containers=[main], volumes=[volume]))
        await node.until(lambda: node.waiting() == "ErrImagePull")
        assert told(node, "Failed") == [("Failed to pull", ""), ("Error: ErrImagePull", "spec.containers{a}")]
        asked = {one.image: one.field for _, one in node.harness.asks if isinstance(one, EnsureImage)}
        assert asked == {"data:1": ""}  # its own image comes after it


async def test_a_crash_loop_is_reported_with_pod_and_container(tmp_path):
    async with Driven(tmp_path) as node:
        await node.want(pod())
        await node.until(lambda: node.running("a"))
        await node.end("a", 1)
        await node.until(lambda: node.attempts("a") == [0, 1] and node.running("a"))
        await node.end("a", 1)
        await node.until(lambda: node.waiting() == "CrashLoopBackOff")
        text = "Back-off restarting failed container a in pod p_default(u)"
        assert told(node, "BackOff") == [(text, "spec.containers{a}")]
        why = node.observed().waiting["a"].message
        assert why == "back-off 10s restarting failed container=a pod=p_default(u)"


async def test_a_lost_sandbox_is_an_event(tmp_path):
    async with Driven(tmp_path) as node:
        await node.want(pod())
        await node.until(lambda: node.running("a"))
        for sandbox in list(node.fake.world.sandboxes):
            await node.fake.client().stop_pod_sandbox(sandbox)
        await node.relist()
        await node.until(lambda: node.count_of("RunPodSandbox") == 2)
        assert told(node, "SandboxChanged") == [("Pod sandbox changed, it will be killed and re-created.", "")]


async def test_a_network_that_is_not_ready_is_reported_with_each_try(tmp_path):
    async with Driven(tmp_path) as node:
        await node.health(network=False, message="cni plugin not initialized")
        await node.want(pod())
        await node.until(lambda: node.waiting() == "ContainerCreating")
        await node.pass_time(3)
        text = "network is not ready: container runtime network not ready: cni plugin not initialized"
        assert told(node, "NetworkNotReady") == [(text, "")] * 4


async def test_the_event_of_an_unhealthy_container_states_whether_it_restarts(tmp_path):
    for policy, text in (("Always", ", will be restarted"), ("Never", "")):
        async with Driven(tmp_path / policy) as node:
            await node.want(pod(restartPolicy=policy))
            await node.until(partial(node.running, "a"))
            identity = node.containers("a")[0].id
            await node.harness.deliver(ProbeVerdict("u", "a", identity, "liveness", success=False))
            await node.until(partial(was_told, node, "Killing"))
            assert told(node, "Killing")[0] == (f"Container a failed liveness probe{text}", "spec.containers{a}")


async def test_a_pod_that_was_active_for_too_long_is_reported_once(tmp_path):
    async with Driven(tmp_path) as node:
        await node.want(pod(activeDeadlineSeconds=5))
        await node.until(lambda: node.running("a"))
        await node.pass_time(6)
        await node.until(lambda: node.stage() == "terminated")
        assert told(node, "DeadlineExceeded") == [("Pod was active on the node longer than the specified deadline", "")]


async def test_volumes_that_cannot_be_made_are_reported_and_tried_when_they_may_work(tmp_path):
    async with Driven(tmp_path) as node:
        text = 'MountVolume.SetUp failed for volume "s" : secret "x" not found'
        node.answer(MountVolumes, lambda question: VolumesFailed(question.uid, text, ["s"]))
        await node.want(pod(volumes=[{"name": "s", "secret": {"secretName": "x"}}]))
        await node.until(lambda: node.waiting() == "ContainerCreating")
        assert told(node, "FailedMount")[0] == (text, "")
        node.answer(MountVolumes, lambda question: VolumesMounted(question.uid, {"s": "/s"}))
        await node.harness.deliver(RetryMounts("u"))
        await node.until(lambda: node.running("a"))


async def test_a_pod_whose_volumes_fail_has_the_events_of_its_volumes_alone(tmp_path):
    async with Driven(tmp_path) as node:
        texts = ["no a", "no b"]
        events = [VolumeEvent("FailedMount", text) for text in texts]
        node.answer(MountVolumes, lambda question: VolumesFailed(question.uid, "no", ["b", "a"], ["b"], events))
        await node.want(pod(volumes=[{"name": name, "secret": {"secretName": "x"}} for name in "ab"]))
        await node.until(lambda: node.waiting() == "ContainerCreating")
        assert [text for text, _ in told(node, "FailedMount")] == texts
        for _ in range(14):
            await node.pass_time(10)
        assert {said for said, _ in told(node, "FailedMount")} == set(texts)


async def test_a_pod_whose_volume_is_not_attached_yet_has_no_event_for_two_minutes(tmp_path):
    async with Driven(tmp_path) as node:
        node.answer(MountVolumes, lambda question: VolumesFailed(question.uid, "not attached yet", ["a"], ["a"], []))
        await node.want(pod(volumes=[{"name": "a", "persistentVolumeClaim": {"claimName": "c"}}]))
        await node.until(lambda: node.waiting() == "ContainerCreating")
        for _ in range(12):
            await node.pass_time(10)
        assert told(node, "FailedMount") == []
        await node.pass_time(10)
        lists = "unmounted volumes=[a], unattached volumes=[a], failed to process volumes=[]"
        text = f"Unable to attach or mount volumes: {lists}: context deadline exceeded"
        assert told(node, "FailedMount") == [(text, "")]


async def test_a_pod_for_whose_volume_the_node_has_no_room_fails_after_two_minutes(tmp_path):
    async with Driven(tmp_path) as node:
        full = partial(VolumesFailed, message="no room", volumes=["a"], unattached=["a"], events=[], exhausted=True)
        node.answer(MountVolumes, lambda question: full(question.uid))
        await node.want(pod(volumes=[{"name": "a", "persistentVolumeClaim": {"claimName": "c"}}]))
        await node.until(lambda: node.waiting() == "ContainerCreating")
        for _ in range(12):
            await node.pass_time(10)
        assert told(node, "VolumeAttachmentLimitExceeded") == []
        await node.pass_time(10)
        await node.until(lambda: node.stage() == "terminated")
        lists = "unmounted volumes=[a], unattached volumes=[a], failed to process volumes=[]: context deadline exceeded"
        text = f"Node has reached its volume attachment limit, rejecting pod. {lists}"
        assert told(node, "VolumeAttachmentLimitExceeded") == [(text, "")]
        assert told(node, "FailedMount") == []
        seen = node.observed()
        assert (seen.reason, seen.message) == ("VolumeAttachmentLimitExceeded", f"Pod was rejected: {text}")


async def test_a_device_that_cannot_be_created_has_its_own_reason(tmp_path):
    async with Driven(tmp_path) as node:
        events = [VolumeEvent("FailedMapVolume", 'MapVolume.SetUpDevice failed for volume "pv" : no')]
        node.answer(MountVolumes, lambda question: VolumesFailed(question.uid, "no", ["a"], [], events))
        await node.want(pod(volumes=[{"name": "a", "persistentVolumeClaim": {"claimName": "c"}}]))
        await node.until(lambda: bool(told(node, "FailedMapVolume")))
        assert told(node, "FailedMapVolume")[0] == (events[0].text, "")
        assert told(node, "FailedMount") == []


@pytest.mark.parametrize(
    "source",
    [
        {"secret": {"secretName": "x"}},
        {"csi": {"driver": "d"}},
        {"nfs": {"server": "s", "path": "/"}},
        {"awsElasticBlockStore": {"volumeID": "vol-1"}},
    ],
)
async def test_a_running_pod_whose_volumes_are_not_refreshed_has_an_event(tmp_path, source):
    async with Driven(tmp_path) as node:
        await node.want(pod(volumes=[{"name": "s", **source}]))
        await node.until(lambda: node.running("a"))
        node.answer(MountVolumes, lambda question: VolumesFailed(question.uid, "no"))
        await node.harness.deliver(Hello(VOLUME_MANAGER, 2))
        await node.until(lambda: bool(told(node, "FailedMount")))
        assert told(node, "FailedMount") == [("no", "")]
        assert node.running("a")


async def test_init_and_ephemeral_containers_are_reported_at_their_places(tmp_path):
    async with Driven(tmp_path) as node:
        await node.want(pod(initContainers=[container("i")], ephemeralContainers=[container("e")]))
        await node.until(lambda: node.running("i"))
        await node.end("i")
        await node.until(lambda: node.running("a") and node.running("e"))
        fields = {field for _, field in told(node, "Created")}
        assert fields == {"spec.initContainers{i}", "spec.containers{a}", "spec.ephemeralContainers{e}"}


async def test_an_ephemeral_container_has_a_volume_that_no_container_used_before(tmp_path):
    volumes = [{"name": "spare", "emptyDir": {}}]
    debugger = container("e", volumeMounts=[{"name": "spare", "mountPath": "/spare"}])
    async with Driven(tmp_path) as node:
        node.answer(MountVolumes, lambda question: VolumesMounted(question.uid, {}))
        await node.want(pod(volumes=volumes))
        await node.until(lambda: node.running("a"))
        node.answer(MountVolumes, lambda question: VolumesMounted(question.uid, {"spare": f"{tmp_path}/spare"}))
        await node.want(pod(volumes=volumes, ephemeralContainers=[debugger]))
        await node.until(lambda: node.running("e"))
