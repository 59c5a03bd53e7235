"""When the devices of local volumes are unmounted: none that is used, and no pod waits for another's."""

from __future__ import annotations

import asyncio
import logging
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from actors.volume_manager.tools import local_devices
from actors.volume_manager.tools.local_devices import PLUGIN_DIR, RETRY_SECONDS, LocalDevices
from actors.volume_manager.tools.system_calls import DisposableCalls
from actors.volume_manager.tools.volume_tools import VolumeTools
from actors.volume_manager.types import local
from supervision.actor import Actor


class Node:
    """The actor and its calls; timers and unmounts are kept."""

    def __init__(self, root: Path) -> None:
        self.root, self.log = root, logging.getLogger("devices")
        self.timers: list[Any] = []
        self.unmounted: list[str] = []
        self.error = ""
        self.mounting = asyncio.Event()
        self.devices = LocalDevices(
            cast(Actor, self), cast(DisposableCalls, self), f"{root}/pods", f"{root}/plugins"
        )  # fmt: skip

    def after(self, seconds: float, call: Any) -> None:
        assert seconds == RETRY_SECONDS
        self.timers.append(call)

    async def run(self, key: str, function: str, arguments: dict[str, Any], *_: Any, **__: Any) -> str:
        if function.endswith("mount_device"):
            await self.mounting.wait()
            return ""
        self.unmounted += arguments["points"]
        return self.error

    def mounted(self, name: str) -> str:
        os.makedirs(self.devices.path(name))
        return self.devices.path(name)

    def uses(self, uid: str, name: str) -> None:
        os.makedirs(self.root / "pods" / uid / "volumes" / PLUGIN_DIR / name)


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Node:
    monkeypatch.setattr(local_devices, "is_mounted", lambda path: True)
    return Node(tmp_path)


async def test_busy_devices_are_retried_once_however_many_pods_end(node: Node) -> None:
    paths = [node.mounted("one"), node.mounted("two")]
    node.error = "busy"
    for _ in range(3):
        await node.devices.release()
    assert len(node.timers) == 1
    await node.timers.pop()()
    assert len(node.timers) == 1, "they are not tried again"
    node.error, node.unmounted = "", []
    await node.timers.pop()()
    assert node.unmounted == paths
    assert node.timers == []
    assert not any(os.path.exists(path) for path in paths)


async def test_a_pod_that_ends_does_not_wait_for_a_device_that_is_formatted_for_another(node: Node) -> None:
    node.mounted("new")
    node.uses("u", "new")
    mount = asyncio.ensure_future(node.devices.mount("new", "/dev/x", "", []))
    await asyncio.sleep(0)
    await asyncio.wait_for(node.devices.release(f"{node.root}/pods/other"), 10)
    node.mounting.set()
    assert await mount == ""
    assert node.unmounted == []


async def test_a_device_stays_while_its_users_are_unknown(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    path, listdir = node.mounted("one"), os.listdir

    def fails(directory: str) -> list[str]:
        if directory.endswith("/pods"):
            raise OSError(24, "Too many open files")
        return listdir(directory)

    monkeypatch.setattr(os, "listdir", fails)
    await node.devices.release()
    assert node.unmounted == []
    monkeypatch.setattr(os, "listdir", listdir)
    await node.timers.pop()()
    assert node.unmounted == [path]


async def test_a_device_stays_while_it_cannot_be_seen_whether_a_pod_uses_it(node: Node) -> None:
    path, pod = node.mounted("one"), Path(node.root, "pods/u")
    pod.parent.mkdir()
    pod.symlink_to(pod)
    await node.devices.release()
    assert node.unmounted == []
    pod.unlink()
    await node.timers.pop()()
    assert node.unmounted == [path]


@pytest.mark.parametrize(("error", "released"), [("", ["devices"]), ("busy", [])])
async def test_devices_are_released_with_the_volumes_of_a_pod_unless_these_stay_mounted(
    monkeypatch: pytest.MonkeyPatch, error: str, released: list[str]
) -> None:
    monkeypatch.setattr(local, "mounts_below", lambda path: [f"{path}/one"])
    pods: list[str] = []

    async def unmount(key: str, function: str, arguments: dict[str, Any]) -> str:
        assert arguments["points"] == [f"devices/volumes/{PLUGIN_DIR}/one"]
        return error

    async def release(pod_dir: str) -> None:
        pods.append(pod_dir)

    tools = SimpleNamespace(calls=SimpleNamespace(run=unmount), local_devices=SimpleNamespace(release=release))
    assert local.TYPE.tear_down is not None
    assert await local.TYPE.tear_down("devices", cast(VolumeTools, tools)) == error
    assert pods == released
