"""Mounts whose file system is dead hold up neither the next start of a container nor the end of a pod."""

import errno
import os
from pathlib import Path

import pytest

from actors.shared.linux import mount_calls
from actors.volume_manager.messages import BindSubPaths, MountVolumes, SubPath, UnmountVolumes, VolumesUnmounted
from tests.actors.volume_manager.csi_storage import Node, Storage
from tests.support.dead_mounts import mount_dead

from .test_real_volumes import SHARED, UID, alone, mounts, pod, start

pytestmark = [
    pytest.mark.node,
    pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root"),
    pytest.mark.skipif(not os.path.exists("/dev/fuse"), reason="the kernel has no FUSE"),
]


async def subpath_scenario(root):
    async with start(root) as manager:
        await manager.deliver(MountVolumes(UID, pod({"name": "data", "emptyDir": {}})))
        items = [SubPath("data", "a", 0)]
        bound = await manager.deliver(BindSubPaths(UID, "c", items))
        mount_calls.umount(bound.paths[0])
        mount_dead(bound.paths[0])
        with pytest.raises(OSError) as dead:
            os.listdir(bound.paths[0])
        assert dead.value.errno == errno.ENOTCONN
        assert await manager.deliver(BindSubPaths(UID, "c", items)) == bound
        assert os.listdir(bound.paths[0]) == []
        assert await manager.deliver(UnmountVolumes(UID)) == VolumesUnmounted(UID)
        assert mounts(root) == SHARED


async def end_scenario(root):
    async with start(root) as manager:
        await manager.deliver(MountVolumes(UID, pod({"name": "data", "emptyDir": {}})))
        bound = await manager.deliver(BindSubPaths(UID, "c", [SubPath("data", "a", 0)]))
        for plugin in ("csi", "nfs", "iscsi", "local-volume", "empty-dir"):
            target = root / f"pods/{UID}/volumes/kubernetes.io~{plugin}/dead"
            target.mkdir(parents=True, exist_ok=True)
            mount_dead(str(target))
        mount_dead(bound.paths[0])
        assert await manager.deliver(UnmountVolumes(UID)) == VolumesUnmounted(UID)
        assert mounts(root) == SHARED
        assert not Path(root, "pods", UID).exists()


async def staged_scenario(root):
    """Its driver has crashed, and the volume manager, too: another pod's volume is staged by the driver again."""
    storage = Storage()
    first, later = Node(root, storage), Node(root, storage)
    async with first.harness, later.harness:
        assert await first.mount("u") == ""
        (staged,) = (path for path in storage.mounts if "globalmount" in path)
        mount_dead(staged)
        assert await later.mount("w") == ""
        assert storage.calls == ["stage", "publish"] * 2


@pytest.mark.parametrize(
    "scenario", [subpath_scenario, end_scenario, staged_scenario], ids=lambda scenario: scenario.__name__
)
def test_a_dead_file_system(scenario, tmp_path):
    alone(scenario, tmp_path, __file__)
