"""A shard on a fake runtime: what happens to the files of a pod on the disk of the node."""

from __future__ import annotations

import shutil
from pathlib import Path

from actors.volume_manager.messages import MountVolumes, VolumesMounted
from tests.support.shard_harness import Driven, container, pod


async def test_an_error_of_the_disk_is_reported_with_its_path_and_reason(tmp_path):
    async with Driven(tmp_path) as node:
        in_the_way = Path(node.harness.actor.context.pod_dir("u")) / "containers"
        in_the_way.parent.mkdir(parents=True, exist_ok=True)
        in_the_way.write_text("")
        await node.want(pod())
        await node.until(lambda: node.waiting() == "CreateContainerConfigError")
        assert node.observed().waiting["a"].message == f"{in_the_way}: File exists"


async def test_volumes_that_were_removed_are_mounted_again_before_the_next_start(tmp_path):
    place = tmp_path / "root/pods/u/volumes/kubernetes.io~configmap/data"

    def mount(question: MountVolumes) -> VolumesMounted:
        place.mkdir(parents=True, exist_ok=True)
        return VolumesMounted(question.uid, {"data": str(place)})

    def mounts() -> int:
        return len([one for _, one in node.harness.asks if isinstance(one, MountVolumes)])

    async with Driven(tmp_path) as node:
        node.answer(MountVolumes, mount)
        mounted = container("a", volumeMounts=[{"name": "data", "mountPath": "/data"}])
        await node.want(pod(containers=[mounted], volumes=[{"name": "data", "configMap": {"name": "c"}}]))
        await node.until(lambda: node.running("a"))
        shutil.rmtree(place)
        await node.end("a", exit_code=1)
        await node.until(lambda: max(node.attempts("a")) == 1 and node.running("a"))
        assert (mounts(), place.is_dir()) == (2, True)
        await node.end("a", exit_code=1)
        await node.pass_time(20)
        await node.until(lambda: max(node.attempts("a")) == 2 and node.running("a"))
        assert mounts() == 2


async def test_a_link_that_a_container_left_for_the_log_of_the_next_instance_is_gone_before_that_starts(tmp_path):
    host = tmp_path / "host"
    host.write_text("")
    async with Driven(tmp_path) as node:
        await node.want(pod())
        await node.until(lambda: node.running("a"))
        log = Path(node.harness.actor.context.pod_logs_dir, "default_p_u", "a", "1.log")
        log.symlink_to(host)
        await node.end("a", exit_code=1)
        await node.until(lambda: max(node.attempts("a")) == 1 and node.running("a"))
        assert (log.is_symlink(), host.exists()) == (False, True)
