"""Volumes with real mounts. Each scenario runs in a process with a mount table of its own: nothing is left behind."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from actors.container_manager.messages import GetNodeResources, NodeResources
from actors.pod_workers.messages import ShardPods
from actors.shared.config.agent import Agent
from actors.shared.linux import mount_calls, mountinfo
from actors.volume_manager.actor import VolumeManager
from actors.volume_manager.declaration import when_killed
from actors.volume_manager.host import mount_propagation
from actors.volume_manager.host.subpaths import bind_subpath
from actors.volume_manager.messages import (
    BindSubPaths,
    MountVolumes,
    SubPath,
    SubPathsBound,
    UnmountVolumes,
    VolumesFailed,
    VolumesUnmounted,
)
from actors.volume_manager.shared_directories import unshare
from supervision.actor import AskError
from supervision.testing.harness import Harness
from tests.support.volumes import user_of

pytestmark = [pytest.mark.node, pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")]
UID = "0a1b"


def alone(scenario, directory, file=__file__):
    """Run a scenario of this module, or of `file` beside it, in a private mount namespace."""
    module = f"tests.node.volume_manager.{Path(file).stem}"
    code = (
        f"import asyncio, importlib, pathlib, sys; sys.path.insert(0, {os.getcwd()!r});"
        f"m = importlib.import_module({module!r});"
        f"asyncio.run(m.{scenario.__name__}(pathlib.Path({str(directory)!r})))"
    )
    command = ["unshare", "--mount", "--propagation", "private", sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def pod(*volumes, **spec):
    spec = {"volumes": list(volumes), "containers": [user_of(volumes)], **spec}
    return json.dumps({"metadata": {"name": "p", "uid": UID}, "spec": spec}).encode()


def start(root):
    agent = Agent(root_dir=str(root), run_dir=f"{root}/run", workers=1)
    harness = Harness(VolumeManager, name="volume_manager", context=agent)
    harness.actor._clock = lambda: harness.clock.now
    harness.answer(GetNodeResources, AskError("nobody"))
    return harness


SHARED = ["/plugins", "/pods"]
"""What the manager mounts for itself."""


def mounts(root):
    return sorted(mount.point.removeprefix(str(root)) for mount in mountinfo.below(mountinfo.read(), str(root)))


async def memory_scenario(root):
    volume = {"name": "mem", "emptyDir": {"medium": "Memory", "sizeLimit": "64Ki"}}
    async with start(root) as manager:
        answer = await manager.deliver(MountVolumes(UID, pod(volume, securityContext={"fsGroup": 1234})))
        path = answer.paths["mem"]
        assert await manager.deliver(MountVolumes(UID, pod(volume))) == answer
        (found,) = [mount for mount in mountinfo.read() if mount.point == path]
        assert found.kind == "tmpfs"
        assert found.shared, "it would not propagate"
        assert all(mount_propagation.is_shared(str(root) + directory) for directory in SHARED)
        state = os.stat(path)
        assert (oct(state.st_mode & 0o7777), state.st_gid) == (oct(0o3777), 1234)
        disk = os.statvfs(path)
        assert disk.f_blocks * disk.f_frsize == 64 << 10
        try:
            Path(path, "big").write_bytes(b"x" * (128 << 10))
        except OSError:
            pass
        else:
            raise AssertionError("the size is not held")
        assert await manager.deliver(UnmountVolumes(UID)) == VolumesUnmounted(UID)
        assert mounts(root) == SHARED
        assert os.listdir(root / "pods") == []
    await manager.stop()
    unshare(manager.actor.context)
    assert mounts(root) == []


async def killed_scenario(root):
    async with start(root) as manager:
        assert mounts(root) == SHARED
    program = when_killed(manager.actor.context)
    for directory, other in (("pods", "plugins"), ("plugins", "pods")):
        (root / directory / UID).mkdir()
        assert subprocess.run(program, check=False, timeout=60).returncode == 0
        assert f"/{directory}" in mounts(root), "pods and drivers need it"
        assert f"/{other}" not in mounts(root)
        (root / directory / UID).rmdir()
        mount_propagation.make_shared(str(root / other))
    assert subprocess.run(program, check=False, timeout=60).returncode == 0
    assert mounts(root) == []
    assert subprocess.run(program, check=False, timeout=60).returncode == 0, "there is nothing to do"


async def mounter_scenario(root):
    """A mounter that mounts something else than NFS, which no server here has; undone as any mount is."""
    mounter = root / "mounter"
    mounter.write_text('#!/bin/sh\n[ "$1 $2 $3" = "mount -t nfs" ] && exec mount -t tmpfs "$4" "$5"\n')
    mounter.chmod(0o755)
    volume = {"name": "n", "nfs": {"server": "s", "path": "/x"}}
    manager = start(root)
    flags = {"experimental-mounter-path": str(mounter)}
    manager.port.context = Agent(root_dir=str(root), run_dir=f"{root}/run", workers=1, flags=flags)
    async with manager:
        answer = await manager.deliver(MountVolumes(UID, pod(volume)))
        path = answer.paths["n"]
        assert await manager.deliver(MountVolumes(UID, pod(volume))) == answer
        (found,) = [mount for mount in mountinfo.read() if mount.point == path]
        assert found.source == "s:/x"
        assert await manager.deliver(UnmountVolumes(UID)) == VolumesUnmounted(UID)
        assert mounts(root) == SHARED


async def default_size_scenario(root):
    volume = {"name": "mem", "emptyDir": {"medium": "Memory"}}
    manager = start(root)
    manager.answer(GetNodeResources, NodeResources({}, {"memory": 1 << 20}, {}, 0, "cgroupfs", 1))
    async with manager:
        answer = await manager.deliver(MountVolumes(UID, pod(volume)))
        disk = os.statvfs(answer.paths["mem"])
        assert disk.f_blocks * disk.f_frsize == 1 << 20


async def restart_scenario(root):
    volume = {"name": "mem", "emptyDir": {"medium": "Memory", "sizeLimit": "64Ki"}}
    async with start(root) as manager:
        answer = await manager.deliver(MountVolumes(UID, pod(volume)))
        Path(answer.paths["mem"], "kept").write_text("x")
    async with start(root) as manager:
        await manager.advance(300)
        assert await manager.deliver(MountVolumes(UID, pod(volume))) == answer
        assert Path(answer.paths["mem"], "kept").exists()
        assert mounts(root).count(answer.paths["mem"].removeprefix(str(root))) == 1
    async with start(root) as manager:
        await manager.deliver(ShardPods("pod_workers/worker/0", 1, []))
        await manager.advance(11)
        assert os.listdir(root / "pods") == []
        assert mounts(root) == SHARED


def labelled(value):
    """A pod with a file of its label."""
    items = [{"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}}]
    volume = {"name": "info", "downwardAPI": {"items": items}}
    spec = {"volumes": [volume], "containers": [user_of([volume])]}
    return json.dumps({"metadata": {"name": "p", "uid": UID, "labels": {"a": value}}, "spec": spec}).encode()


DOWNWARD = f"pods/{UID}/volumes/kubernetes.io~downward-api/info"


async def downward_scenario(root):
    """In memory, mounted once whatever died between the mount and the files, and gone with the pod."""
    async with start(root) as manager:
        answer = await manager.deliver(MountVolumes(UID, labelled("1")))
        assert answer.paths == {"info": str(root / DOWNWARD)}
    (found,) = [mount for mount in mountinfo.read() if mount.point == str(root / DOWNWARD)]
    assert found.kind == "tmpfs"
    os.unlink(root / DOWNWARD / "..data")
    async with start(root) as manager:
        assert await manager.deliver(MountVolumes(UID, labelled("2"))) == answer
        assert (root / DOWNWARD / "labels").read_text() == 'a="2"'
        assert mounts(root).count(f"/{DOWNWARD}") == 1
        assert await manager.deliver(UnmountVolumes(UID)) == VolumesUnmounted(UID)
        assert mounts(root) == SHARED
        assert os.listdir(root / "pods") == []


async def files_of_an_older_version_scenario(root):
    """They are on the disk, where the pod's containers have them: they are kept up to date there."""
    old = root / DOWNWARD
    (old / "..2001").mkdir(parents=True)
    (old / "..2001/labels").write_text('a="1"')
    (old / "..data").symlink_to("..2001")
    (old / "labels").symlink_to("..data/labels")
    container = os.open(old, os.O_PATH)  # what a running container has
    async with start(root) as manager:
        await manager.deliver(MountVolumes(UID, labelled("2")))
        assert Path(f"/proc/self/fd/{container}/labels").read_text() == 'a="2"'
        assert mounts(root) == SHARED
        os.close(container)
        assert await manager.deliver(UnmountVolumes(UID)) == VolumesUnmounted(UID)
        assert os.listdir(root / "pods") == []


async def orphan_scenario(root):
    """Something of the host is still mounted in the directory of a pod that nobody knows."""
    precious = root / "precious"
    (precious / "inner").mkdir(parents=True)
    (precious / "data").write_text("keep me")
    place = root / "pods/dead/volumes/kubernetes.io~csi/pv/mount"
    place.mkdir(parents=True)
    mount_calls.bind(str(precious), str(place))
    async with start(root) as manager:
        await manager.deliver(ShardPods("pod_workers/worker/0", 1, []))
        await manager.advance(11)
    assert os.listdir(root / "pods") == []
    assert (precious / "data").read_text() == "keep me"
    assert (precious / "inner").is_dir()


async def stuck_scenario(root):
    """A mount that cannot be undone keeps the data, and the answer says where it is."""
    async with start(root) as manager:
        answer = await manager.deliver(MountVolumes(UID, pod({"name": "data", "emptyDir": {}})))
        other = root / "other"
        other.mkdir()
        (other / "data").write_text("keep me")
        mount_calls.bind(str(other), answer.paths["data"])
        manager.disposables["actors.volume_manager.host.unmounts:unmount_all"] = lambda **_: None
        failed = await manager.deliver(UnmountVolumes(UID))
        assert isinstance(failed, VolumesFailed)
        assert answer.paths["data"] in failed.message
        manager.disposables.clear()
        assert await manager.deliver(UnmountVolumes(UID)) == VolumesUnmounted(UID)
    assert (other / "data").read_text() == "keep me"


async def subpath_scenario(root):
    async with start(root) as manager:
        host = root / "host"
        (host / "conf").mkdir(parents=True)
        (host / "conf/file").write_text("one")
        volumes = pod({"name": "data", "emptyDir": {}}, {"name": "h", "hostPath": {"path": str(host)}})
        await manager.deliver(MountVolumes(UID, volumes))
        items = [SubPath("data", "new/deep", 0), SubPath("h", "conf/file", 3)]
        bound = await manager.deliver(BindSubPaths(UID, "c", items))
        assert isinstance(bound, SubPathsBound), bound
        assert Path(bound.paths[3]).read_text() == "one"
        Path(bound.paths[0], "written").write_text("x")
        data = root / "pods" / UID / "volumes/kubernetes.io~empty-dir/data"
        assert (data / "new/deep/written").exists()
        assert (data / "new/deep").stat().st_mode & 0o7777 == 0o777

        assert await manager.deliver(BindSubPaths(UID, "c", items)) == bound
        assert len(mounts(root)) == 4

        (host / "conf/file").unlink()
        (host / "conf/file").mkdir()  # a file has become a directory: bound again
        assert await manager.deliver(BindSubPaths(UID, "c", items)) == bound
        assert Path(bound.paths[3]).is_dir()

        for path in ("../x", "/etc"):
            failed = await manager.deliver(BindSubPaths(UID, "c", [SubPath("data", path, 5)]))
            assert isinstance(failed, VolumesFailed)
        (data / "evil").symlink_to("/etc")
        failed = await manager.deliver(BindSubPaths(UID, "c", [SubPath("data", "evil/passwd", 6)]))
        assert isinstance(failed, VolumesFailed)

        assert await manager.deliver(UnmountVolumes(UID)) == VolumesUnmounted(UID)
        assert (host / "conf/file").is_dir()
        assert mounts(root) == SHARED


async def race_scenario(root):
    """A container swaps a directory for a symlink to the host as fast as it can (CVE-2017-1002101, CVE-2021-25741)."""
    volume, secret = root / "volume", root / "secret"
    (volume / "a/sub").mkdir(parents=True)
    (volume / "a/sub/inside").write_text("")
    (secret / "sub").mkdir(parents=True)
    (secret / "sub/outside").write_text("")
    (volume / "b").symlink_to(secret)
    swapper = subprocess.Popen([sys.executable, "-c", SWAP, str(volume)])
    bound = refused = 0
    try:
        end = time.monotonic() + 3
        latest = end + 60  # until both have happened
        while time.monotonic() < end or (not (bound and refused) and time.monotonic() < latest):
            target = str(root / "target")
            try:
                bind_subpath(str(volume), "a/sub", target, False)
            except OSError:
                refused += 1
                continue
            assert os.listdir(target) != ["outside"], "the host was given to the container"
            bound += 1
            mount_calls.umount(target, mount_calls.MNT_DETACH)
    finally:
        swapper.kill()
        swapper.wait(5)
    assert os.listdir(secret / "sub") == ["outside"]
    assert bound > 0, "the race was never won"
    assert refused > 0, "the race was never lost"


SWAP = """
import ctypes, os, sys
os.chdir(sys.argv[1])
libc = ctypes.CDLL(None)
while True:
    libc.renameat2(-100, b"a", -100, b"b", 2)
"""


@pytest.mark.parametrize(
    "scenario",
    [
        memory_scenario,
        killed_scenario,
        mounter_scenario,
        default_size_scenario,
        restart_scenario,
        downward_scenario,
        files_of_an_older_version_scenario,
        orphan_scenario,
        stuck_scenario,
        subpath_scenario,
        race_scenario,
    ],
    ids=lambda scenario: scenario.__name__,
)
def test_volumes_with_real_mounts(scenario, tmp_path):
    alone(scenario, tmp_path)
