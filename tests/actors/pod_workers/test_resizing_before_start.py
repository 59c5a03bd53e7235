"""A shard on a fake runtime: resizes of pods that are admitted and have no container yet."""

from __future__ import annotations

import pytest

from actors.container_manager.messages import AdmitPod, PodAdmitted, PodRejected, ResizePod
from actors.shared.kube.pod import Pod
from actors.volume_manager.messages import MountVolumes, VolumesFailed, VolumesMounted
from tests.support.present import present
from tests.support.shard_harness import Driven, container, pod


def sized(cpu: str) -> Pod:
    volumes = [{"name": "data", "emptyDir": {}}]
    return pod(containers=[container("a", resources={"requests": {"cpu": cpu}})], volumes=volumes)


class Volumes:
    """Are not mounted until they are there."""

    def __init__(self) -> None:
        self.there, self.asked = False, 0

    def __call__(self, question: MountVolumes) -> VolumesMounted | VolumesFailed:
        self.asked += 1
        return VolumesMounted(question.uid, {"data": "/x"}) if self.there else VolumesFailed("u", "no secret")


def admit(question: AdmitPod) -> PodAdmitted | PodRejected:
    """A node with less than 64 CPUs."""
    if b'"64"' in question.pod:
        return PodRejected(question.uid, "OutOfcpu", "Node didn't have enough resource: cpu")
    return PodAdmitted(question.uid, "")


@pytest.mark.parametrize("reason", ["Infeasible", "Deferred"])
async def test_a_resize_that_does_not_fit_leaves_a_pod_that_waits_for_its_volumes_waiting(tmp_path, reason):
    volumes = Volumes()
    async with Driven(tmp_path) as node:
        node.answer(MountVolumes, volumes)
        node.answer(AdmitPod, admit)
        node.answer(ResizePod, lambda question: PodRejected(question.uid, reason, "too much"))
        await node.want(sized("100m"))
        await node.until(lambda: volumes.asked == 1)
        await node.want(sized("64"))
        await node.until(lambda: volumes.asked == 2)
        volumes.there = True
        await node.pass_time(8)
        await node.until(lambda: node.running("a") and node.observed().resize is not None)
        assert present(node.observed().resize).reason == reason
        assert b"100m" in node.observed().pod


async def test_a_pod_that_waits_for_its_volumes_starts_with_the_resources_that_it_is_resized_to(tmp_path):
    volumes = Volumes()
    async with Driven(tmp_path) as node:
        node.answer(MountVolumes, volumes)
        node.answer(ResizePod, lambda question: PodAdmitted(question.uid, ""))
        await node.want(sized("100m"))
        await node.until(lambda: volumes.asked == 1)
        await node.want(sized("150m"))
        await node.until(lambda: volumes.asked == 2)
        volumes.there = True
        await node.pass_time(8)
        await node.until(lambda: node.running("a") and b"150m" in node.observed().pod)
        await node.settled()
        assert node.observed().resize is None
        assert "ResizeStarted" in dict(node.events())


async def test_resources_that_change_while_a_pod_is_admitted_are_a_resize(tmp_path):
    """The answer is about the resources that were asked for."""
    admitted = list[bytes]()
    async with Driven(tmp_path) as node:

        async def changes_meanwhile(question: AdmitPod) -> PodAdmitted:
            if not admitted:
                await node.want(sized("64"))
            admitted.append(question.pod)
            return PodAdmitted(question.uid, "")

        node.answer(AdmitPod, changes_meanwhile)
        node.answer(MountVolumes, lambda question: VolumesMounted(question.uid, {"data": "/x"}))
        node.answer(ResizePod, lambda question: PodRejected(question.uid, "Infeasible", "too much"))
        await node.want(sized("100m"))
        await node.until(lambda: node.running("a") and node.observed().resize is not None)
        assert b"100m" in node.observed().pod
