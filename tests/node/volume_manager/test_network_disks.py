"""iSCSI disks with real block devices and mounts; iscsiadm and its sessions are made up. `make test-host` has both.

The scenario runs in a process with a mount table of its own: nothing is left behind.
"""

from __future__ import annotations

import asyncio  # noqa: F401 - used by the code that alone() runs
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from actors.container_manager.messages import GetNodeResources
from actors.shared.config.agent import Agent
from actors.shared.linux import mountinfo
from actors.volume_manager.actor import VolumeManager
from actors.volume_manager.host import iscsi_attach, iscsi_detach
from actors.volume_manager.messages import MountVolumes, UnmountVolumes, VolumesMounted, VolumesUnmounted
from supervision.actor import AskError
from supervision.testing.harness import Harness
from tests.support.iscsi_target import IQN, PORTAL, IscsiTarget
from tests.support.volumes import user_of

pytestmark = [pytest.mark.node, pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")]
HOST = "actors.volume_manager.host"
SHARED = f"/plugins/kubernetes.io/iscsi/iface-default/{PORTAL}-{IQN}-lun-0"
SUFFIX = "/volumes/kubernetes.io~iscsi/v"


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


def start(root: Path, target: IscsiTarget) -> Harness:
    """A volume manager without an API server."""
    agent = Agent(root_dir=str(root), run_dir=f"{root}/run", workers=1)
    manager = Harness(VolumeManager, name="volume_manager", context=agent)
    manager.answer(GetNodeResources, AskError("nobody"))
    functions: dict[str, Callable[..., Any]] = {"attach": iscsi_attach.attach, "detach": iscsi_detach.detach}
    for name, function in functions.items():
        manager.disposables[f"{HOST}.iscsi_{name}:{name}"] = partial(function, **target.where)
    return manager


async def mounted(manager: Harness, uid: str) -> Path:
    volumes = [{"name": "v", "iscsi": {"targetPortal": PORTAL, "iqn": IQN}}]
    body = {"metadata": {"name": uid, "uid": uid}, "spec": {"volumes": volumes, "containers": [user_of(volumes)]}}
    answer = await manager.deliver(MountVolumes(uid, json.dumps(body).encode()), timeout=60)
    assert isinstance(answer, VolumesMounted), answer
    return Path(answer.paths["v"])


async def unmounted(manager: Harness, uid: str) -> None:
    assert await manager.deliver(UnmountVolumes(uid), timeout=60) == VolumesUnmounted(uid)
    await manager.settle()


def points(root: Path) -> list[str]:
    found = (mount.point.removeprefix(str(root)) for mount in mountinfo.below(mountinfo.read(), str(root)))
    return sorted(point for point in found if point not in ("/plugins", "/pods"))


async def life_of_a_disk(root: Path, device: str) -> None:
    """Formatted once, mounted once for two pods by two incarnations, detached after the last pod and last user."""
    name = os.path.basename(device)
    target = IscsiTarget(root / "target", disks={"0": [name]})
    (root / "target/dev" / name).unlink()
    (root / "target/dev" / name).symlink_to(device)
    os.environ["PATH"] = target.path
    async with start(root, target) as manager:
        (await mounted(manager, "one") / "f").write_text("kept")
    async with start(root, target) as manager:
        assert (await mounted(manager, "two") / "f").read_text() == "kept"
        assert points(root) == [SHARED, f"/pods/one{SUFFIX}", f"/pods/two{SUFFIX}"]
        (mount,) = mountinfo.at(f"{root}{SHARED}")
        assert mount.kind == "ext4"
        await unmounted(manager, "one")
        assert target.sessions == ["host1"]
        (root / "elsewhere").mkdir()
        subprocess.run(["mount", "--bind", f"{root}{SHARED}", root / "elsewhere"], check=True)
        await unmounted(manager, "two")
        assert points(root) == ["/elsewhere"]
        assert not target.is_removed(name), "it is mounted elsewhere"
        subprocess.run(["umount", root / "elsewhere"], check=True)
        await manager.advance(11)
        assert target.is_removed(name)
        assert target.sessions == []
    left = [file for top in ("pods", "plugins") for _, _, files in os.walk(root / top) for file in files]
    assert left == []


def test_a_disk_of_a_network_is_mounted_once_and_stays_while_somebody_uses_it(tmp_path: Path, device: str) -> None:
    code = (
        f"import sys, importlib.util as u; sys.path.insert(0, {os.getcwd()!r});"
        f"s = u.spec_from_file_location('scenarios', {__file__!r}); m = u.module_from_spec(s); s.loader.exec_module(m);"
        f"m.asyncio.run(m.life_of_a_disk(m.Path({str(tmp_path / 'root')!r}), {device!r}))"
    )
    command = ["unshare", "--mount", "--propagation", "private", sys.executable, "-c", code]
    done: Any = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
