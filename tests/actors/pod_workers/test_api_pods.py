"""A shard with pods of an API server: they end when it says so, start no second time, and show how far their end is."""

from __future__ import annotations

from actors.shared.kube.codec import decode_pod, encode
from actors.status_manager.messages import PodObserved
from actors.volume_manager.messages import UnmountVolumes, VolumesFailed, VolumesUnmounted
from tests.support.shard_harness import Driven, pod

DELETED = {"deletionTimestamp": "2023-11-14T22:13:50Z", "deletionGracePeriodSeconds": 4}


def over(phase: str = "Succeeded"):
    wanted = pod()
    text = encode(wanted).replace(b'"metadata"', f'"status":{{"phase":"{phase}"}},"metadata"'.encode(), 1)
    return decode_pod(text)


def said(node: Driven) -> list[PodObserved]:
    return node.harness.sent(PodObserved, "status_manager")


async def test_a_pod_that_is_over_at_the_api_server_is_not_started_again(tmp_path):
    async with Driven(tmp_path) as node:
        await node.want(over())
        await node.until(lambda: said(node) != [] and node.observed().finished)
        assert node.count_of("RunPodSandbox") == 0
        assert node.stage() == "terminated"


async def test_a_pod_whose_phase_is_final_at_the_api_server_is_ended(tmp_path):
    async with Driven(tmp_path) as node:
        await node.want(pod())
        await node.until(lambda: node.running("a"))
        await node.want(over("Failed"))
        await node.until(lambda: node.observed().finished)
        assert not node.running("a")


async def test_a_deleted_pod_is_finished_when_its_volumes_and_cgroup_are_gone(tmp_path):
    async with Driven(tmp_path) as node:
        node.answer(UnmountVolumes, lambda question: VolumesFailed(question.uid, "target is busy"))
        await node.want(pod())
        await node.until(lambda: node.running("a"))
        await node.want(pod(metadata=DELETED))
        await node.until(lambda: node.stage() == "terminated")
        await node.until(lambda: node.observed().last_error != "")
        last = node.observed()
        assert (last.finished, last.removed, last.termination_step) == (False, False, "volumes")
        assert last.last_error == "volumes: target is busy"
        node.answer(UnmountVolumes, lambda question: VolumesUnmounted(question.uid))
        await node.pass_time(10)
        await node.until(lambda: node.observed().finished)
        last = node.observed()
        assert (last.termination_step, last.last_error, last.gone) == ("", "", False)
        ways = list(dict.fromkeys(each.termination_step for each in said(node)))
        assert ways == ["", "containers", "volumes", "cgroup"]
        await node.remove()
        await node.until(lambda: node.stage() == "gone")
        assert node.observed().removed
