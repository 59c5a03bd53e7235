"""Local volumes on real block devices: formatted once, mounted once for all pods, and whole after a death at any step.

Each scenario runs in a process with a mount table of its own: nothing is left behind.
"""

from __future__ import annotations

import asyncio  # noqa: F401 - used by the code that alone() runs
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from actors.api_clients.kube_client.messages import ApiAnswer, ApiCall
from actors.container_manager.messages import GetNodeResources
from actors.shared.config.agent import Agent
from actors.shared.linux import mountinfo
from actors.volume_manager.actor import VolumeManager
from actors.volume_manager.host import disk_format
from actors.volume_manager.messages import MountVolumes, UnmountVolumes, VolumesFailed, VolumesMounted, VolumesUnmounted
from supervision.actor import AskError, DisposableError
from supervision.testing.harness import Harness
from tests.support.volumes import user_of

pytestmark = [pytest.mark.node, pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")]
CLAIM = "/api/v1/namespaces/ns/persistentvolumeclaims/disk"
VOLUME = "/api/v1/persistentvolumes/pv"
HOST = "actors.volume_manager.host"


def alone(scenario: Any, directory: Path, *words: str) -> None:
    """Run a scenario of this module in a private mount namespace."""
    code = (
        f"import sys, importlib.util as u; sys.path.insert(0, {os.getcwd()!r});"
        f"s = u.spec_from_file_location('scenarios', {__file__!r}); m = u.module_from_spec(s); s.loader.exec_module(m);"
        f"m.asyncio.run(m.{scenario.__name__}(m.Path({str(directory)!r}), *{words!r}))"
    )
    command = ["unshare", "--mount", "--propagation", "private", sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture
def device(tmp_path: Path) -> Iterator[str]:
    """A block device of 16 MiB."""
    image = tmp_path / "image"
    image.write_bytes(bytes(16 << 20))
    made = subprocess.run(["losetup", "-f", "--show", str(image)], capture_output=True, text=True, check=False)
    if made.returncode:
        pytest.skip(f"no loop device: {made.stderr.strip()}")
    yield made.stdout.strip()
    subprocess.run(["losetup", "-d", made.stdout.strip()], check=True)


def start(root: Path, device: str, *, mounts: list[str] | None = None, **local: Any) -> Harness:
    spec = {"claimRef": {"name": "disk", "uid": "c1"}, "local": {"path": device, **local}, "mountOptions": mounts or []}
    objects = {
        CLAIM: {
            "metadata": {"name": "disk", "namespace": "ns", "uid": "c1"},
            "spec": {"volumeName": "pv"},
            "status": {"phase": "Bound"},
        },
        VOLUME: {"metadata": {"name": "pv"}, "spec": spec},
    }

    def answer(call: ApiCall) -> ApiAnswer:
        found = objects.get(call.path)
        return ApiAnswer(status=200 if found else 404, body=json.dumps(found).encode())

    agent = Agent(root_dir=str(root), run_dir=f"{root}/run", workers=1, standalone=False, node_name="n1")
    harness = Harness(VolumeManager, name="volume_manager", context=agent)
    harness.actor._clock = lambda: harness.clock.now
    harness.answer(GetNodeResources, AskError("nobody"))
    harness.answer(ApiCall, answer)
    return harness


async def mount(manager: Harness, uid: str, *, read_only: bool = False, **spec: Any) -> VolumesMounted | VolumesFailed:
    volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": "disk", "readOnly": read_only}}]
    meta = {"name": uid, "namespace": "ns", "uid": uid}
    body = {"metadata": meta, "spec": {"volumes": volumes, "containers": [user_of(volumes)], **spec}}
    answer = await manager.deliver(MountVolumes(uid, json.dumps(body).encode()))
    assert isinstance(answer, VolumesMounted | VolumesFailed)
    return answer


def place(root: Path, uid: str) -> Path:
    return root / "pods" / uid / "volumes/kubernetes.io~local-volume/pv"


def points(root: Path) -> list[str]:
    found = (mount.point.removeprefix(str(root)) for mount in mountinfo.below(mountinfo.read(), str(root)))
    return sorted(point for point in found if point not in ("/plugins", "/pods"))


PARTITION = bytes.fromhex("00202100 83aa2802 00080000 00100000")
"""An entry in the table of an MBR: 2 MiB of type Linux."""
SHARED = "/plugins/kubernetes.io/local-volume/mounts/pv"


async def shared_scenario(root: Path, device: str) -> None:
    """An empty device is formatted, and mounted with its options, once for two pods."""
    async with start(root, device, mounts=["noatime"]) as manager:
        for uid in ("one", "two"):
            answer = await mount(manager, uid, securityContext={"fsGroup": 1234})
            assert answer == VolumesMounted(uid, {"v": str(place(root, uid))})
        assert [function for function, _ in manager.disposed].count(f"{HOST}.disk_format:mount_device") == 2
        assert points(root) == [SHARED, f"/pods/{'one'}{SUFFIX}", f"/pods/{'two'}{SUFFIX}"]
        (found,) = [mount for mount in mountinfo.read() if mount.point == str(place(root, "one"))]
        assert (found.kind, found.source) == ("ext4", device)
        options = Path("/proc/self/mountinfo").read_text().split(str(place(root, "one")))[1].split(" - ")[0]
        assert "noatime" in options
        assert place(root, "one").stat().st_gid == 1234
        (place(root, "one") / "f").write_text("kept")
        assert (place(root, "two") / "f").read_text() == "kept"
        assert await manager.deliver(UnmountVolumes("one")) == VolumesUnmounted("one")
        assert points(root) == [SHARED, f"/pods/two{SUFFIX}"]
        assert await manager.deliver(UnmountVolumes("two")) == VolumesUnmounted("two")
        assert points(root) == []
        assert os.listdir(root / "pods") == []
        assert os.listdir(os.path.dirname(f"{root}{SHARED}")) == []
        await mount(manager, "three")
        assert (place(root, "three") / "f").read_text() == "kept", "formatted again"
        await manager.deliver(UnmountVolumes("three"))


SUFFIX = "/volumes/kubernetes.io~local-volume/pv"


async def death_scenario(root: Path, device: str, step: str) -> None:
    """The volume manager dies at this step of the mount, and at this step of the unmount."""

    def dies(**_: Any) -> str:
        raise DisposableError("Killed", "with its agent")

    async with start(root, device) as manager:
        manager.disposables[step] = dies
        answer = await mount(manager, "u", securityContext={"fsGroup": 1234})
        assert isinstance(answer, VolumesFailed) == (step != f"{HOST}.unmounts:unmount_all")
    async with start(root, device) as manager:
        assert isinstance(await mount(manager, "u", securityContext={"fsGroup": 1234}), VolumesMounted)
        assert points(root) == [SHARED, f"/pods/u{SUFFIX}"], "mounted twice"
        assert place(root, "u").stat().st_gid == 1234
        (place(root, "u") / "f").write_text("kept")
    async with start(root, device) as manager:
        manager.disposables[f"{HOST}.unmounts:unmount_all"] = dies
        assert isinstance(await manager.deliver(UnmountVolumes("u")), VolumesFailed)
    async with start(root, device) as manager:
        assert await manager.deliver(UnmountVolumes("u")) == VolumesUnmounted("u")
        assert points(root) == []
        await mount(manager, "v")
        assert (place(root, "v") / "f").read_text() == "kept"
        await manager.deliver(UnmountVolumes("v"))


async def busy_scenario(root: Path, device: str) -> None:
    """A device that is still in use when its last pod ends is unmounted later; the pod does not wait."""
    async with start(root, device) as manager:
        await mount(manager, "u")
        user = os.open(f"{root}{SHARED}", os.O_RDONLY)
        assert await manager.deliver(UnmountVolumes("u")) == VolumesUnmounted("u")
        assert points(root) == [SHARED]
        os.close(user)
        await manager.advance(61)
        assert points(root) == []


async def refused_scenario(root: Path, device: str) -> None:
    """What cannot be mounted is refused with the kubelet's text, and nothing is left mounted."""
    async with start(root, device) as manager:
        answer = await mount(manager, "u", read_only=True)
        text = f"cannot mount unformatted disk {device} as we are manipulating it in read-only mode"
        assert isinstance(answer, VolumesFailed)
        assert answer.message == f'MountVolume.MountDevice failed for volume "pv" : {text}'
    with open(device, "r+b") as disk:
        disk.write(bytes(446) + PARTITION + bytes(48) + b"\x55\xaa")
    async with start(root, device) as manager:
        answer = await mount(manager, "u")
        assert isinstance(answer, VolumesFailed)
        assert "mount failed: exit status" in answer.message
        assert disk_format.format_of(device, 10.0) == "unknown data, probably partitions", "formatted over"
        assert await manager.deliver(UnmountVolumes("u")) == VolumesUnmounted("u")
    assert points(root) == []


async def read_only_scenario(root: Path, device: str) -> None:
    """A device with a file system is mounted as it is; a claim that is only read cannot be written to."""
    subprocess.run(["mkfs.ext3", "-q", device], check=True)
    async with start(root, device) as manager:
        assert isinstance(await mount(manager, "u", read_only=True), VolumesMounted)
        (found,) = [mount for mount in mountinfo.read() if mount.point == str(place(root, "u"))]
        assert found.kind == "ext3"
        try:
            (place(root, "u") / "f").write_text("x")
        except OSError:
            pass
        else:
            raise AssertionError("written to")
        await manager.deliver(UnmountVolumes("u"))


@pytest.mark.parametrize(
    "scenario",
    [shared_scenario, busy_scenario, refused_scenario, read_only_scenario],
    ids=lambda scenario: scenario.__name__,
)
def test_a_local_volume_may_be_a_file_system_on_a_device(scenario: Any, tmp_path: Path, device: str) -> None:
    alone(scenario, tmp_path / "root", device)


@pytest.mark.parametrize(
    "step", ["local_volumes:kind_of", "disk_format:mount_device", "local_volumes:bind_volume", "ownership:apply_group"]
)
def test_a_death_at_any_step_neither_formats_again_nor_mounts_twice(tmp_path: Path, device: str, step: str) -> None:
    alone(death_scenario, tmp_path / "root", device, f"{HOST}.{step}")


def test_the_next_agent_waits_for_a_mkfs_that_outlived_its_agent(tmp_path: Path, device: str) -> None:
    """Its lock is held by the program itself; what it made is not made again."""
    program = tmp_path / "mkfs.slow"
    program.write_text(f"#!/bin/sh\ntouch {tmp_path}/began\nsleep 2\nmkfs.ext4 -q -F -L first {device}\n")
    program.chmod(0o755)
    code = f"from {HOST}.disk_format import mount_device\nmount_device({device!r}, '{tmp_path}/a', 'slow', [], 30.0)"
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    agent = subprocess.Popen([sys.executable, "-c", code], env=environment)
    end = time.monotonic() + 30
    while not (tmp_path / "began").exists():
        assert time.monotonic() < end, "mkfs has not begun"
        time.sleep(0.02)
    agent.kill()
    agent.wait(10)
    again = f"print(mount_device({device!r}, '{tmp_path}/b', '', [], 30.0))"
    label = f"import os; os.system('blkid -p -s LABEL -o value {device}; umount {tmp_path}/b')"
    look = f"from {HOST}.disk_format import mount_device\n{again}\n{label}"
    done = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout.split() == ["first"], done.stderr
