"""Files of the downward API."""

import json
import os

from actors.container_manager.messages import GetNodeResources, NodeResources
from actors.volume_manager.host import memory_mounts
from actors.volume_manager.messages import (
    MountVolumes,
    UnmountVolumes,
    VolumesFailed,
    VolumesUnmounted,
)
from tests.actors.volume_manager.plain_volumes import UID, pod
from tests.support.volumes import user_of


async def test_the_downward_api_is_written_from_the_pod_and_follows_it(manager, monkeypatch):
    mounted = []

    def no_tmpfs(*given):
        mounted.append(given)
        os.makedirs(given[0])
        return True

    monkeypatch.setattr(memory_mounts, "mount_memory", no_tmpfs)
    item = {"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}}
    volume = {"name": "info", "downwardAPI": {"items": [item]}}

    def labelled(value):
        metadata = {"name": "p", "uid": UID, "labels": {"a": value}}
        return json.dumps(
            {"metadata": metadata, "spec": {"volumes": [volume], "containers": [user_of([volume])]}}
        ).encode()

    manager.answer(GetNodeResources, NodeResources({}, {"cpu": 1000, "memory": 1 << 20}, {}, 0, "cgroupfs", 1))
    async with manager:
        answer = await manager.deliver(MountVolumes(UID, labelled("1")))
        file = os.path.join(answer.paths["info"], "labels")
        with open(file) as stream:
            assert stream.read() == 'a="1"'
        await manager.deliver(MountVolumes(UID, labelled("2")))
        with open(file) as stream:
            assert stream.read() == 'a="2"'
        assert await manager.deliver(UnmountVolumes(UID)) == VolumesUnmounted(UID)
    assert mounted == [(answer.paths["info"], 1 << 20, None)], "once"
    assert manager.disposed == [], "it costs no process"


async def test_a_downward_api_field_that_cannot_be_is_named_with_its_volume(manager):
    item = {"path": "ip", "fieldRef": {"fieldPath": "status.podIP"}}
    manager.answer(GetNodeResources, NodeResources({}, {"cpu": 1000}, {}, 0, "cgroupfs", 1))
    async with manager:
        answer = await manager.deliver(MountVolumes(UID, pod({"name": "info", "downwardAPI": {"items": [item]}})))

    assert isinstance(answer, VolumesFailed)
    assert "status.podIP" in answer.message
    assert answer.volumes == ["info"]
