"""A plugin is asked what it is by one of two watches of a directory; the other one learns it."""

from __future__ import annotations

import asyncio
import os
import socket
from collections import Counter
from pathlib import Path
from typing import Any

from actors.shared.plugins.identity import PluginIdentity
from actors.shared.plugins.model import CSI, DEVICE, Plugin, PluginError
from actors.shared.plugins.watch import PluginWatch
from supervision.actor import Actor
from supervision.testing.harness import Harness

PLUGIN = Plugin(socket="/a.sock", kind=CSI, name="d.test", endpoint="/a.sock")


async def test_who_waits_for_the_identity_of_a_replaced_plugin_learns_nothing() -> None:
    identity = PluginIdentity((1, 1))
    waits = asyncio.create_task(identity.get())
    await asyncio.sleep(0)
    identity.replace((2, 2))
    identity.set((1, 1), PLUGIN)
    assert await waits is None
    identity.set((2, 2), PLUGIN)
    assert await identity.get() == PLUGIN
    identity.replace(None)
    assert await identity.get() is None


class Watcher(Actor):
    pass


class Drivers:
    """The handler of the second watch. It fails as often as `failures` says."""

    def __init__(self) -> None:
        self.log: list[str] = []
        self.failures = 0

    def refusal(self, plugin: Plugin) -> str:
        return ""

    async def register(self, plugin: Plugin) -> None:
        self.log.append(plugin.name)
        if self.failures:
            self.failures -= 1
            raise PluginError("not now")

    async def deregister(self, plugin: Plugin) -> None:
        self.log.append(f"-{plugin.name}")


class Calls:
    """Of one watch, to the plugins of `kinds`, by file."""

    def __init__(self, kinds: dict[str, str]) -> None:
        self.kinds = kinds
        self.asked: Counter[str] = Counter()
        self.connected: list[str] = []

    def __call__(self, path: str) -> Any:
        file = os.path.basename(path)
        self.connected.append(file)
        return _Call(self, path, file)


class _Call:
    def __init__(self, calls: Calls, path: str, file: str) -> None:
        self._calls, self._path, self._file = calls, path, file

    async def get_info(self) -> Plugin:
        self._calls.asked[self._file] += 1
        if self._file not in self._calls.kinds:
            raise PluginError("nobody answers")
        return Plugin(socket=self._path, kind=self._calls.kinds[self._file], name=self._file, endpoint=self._path)

    async def notify(self, error: str) -> None:
        return

    async def close(self) -> None:
        return


class Node:
    """Two watches of one directory: of devices, and of volumes, which learns from the first."""

    def __init__(self, directory: Path, kinds: dict[str, str]) -> None:
        self._directory = directory
        self.devices, self.volumes = Calls(kinds), Calls(kinds)
        self.drivers = Drivers()
        self.harnesses = Harness(Watcher, name="device_manager"), Harness(Watcher, name="volume_manager")
        self.first = PluginWatch(self.harnesses[0].actor, str(directory), {DEVICE: Drivers()}, (CSI,), self.devices)
        self.second = PluginWatch(
            self.harnesses[1].actor, str(directory), {CSI: self.drivers}, None, self.volumes, learn=self.first.identify
        )

    async def __aenter__(self) -> Node:
        for harness in self.harnesses:
            await harness.__aenter__()
        return self

    async def __aexit__(self, *error: Any) -> None:
        for watch, harness in zip((self.first, self.second), self.harnesses, strict=True):
            watch.close()
            await harness.__aexit__(*error)

    def come(self, file: str) -> None:
        Path(self._directory, file).unlink(missing_ok=True)
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(f"{self._directory}/{file}")


async def test_a_plugin_is_asked_once_by_the_two_watches(tmp_path: Path) -> None:
    async with Node(tmp_path, {"csi": CSI, "gpu": DEVICE}) as node:
        node.come("csi")
        node.come("gpu")
        node.second.start()
        node.first.start()
        await node.harnesses[1].wait(lambda: node.drivers.log == ["csi"])
        assert (node.devices.asked, node.volumes.asked) == (Counter(csi=1, gpu=1), Counter())
        assert node.volumes.connected == ["csi"], "it needs no gRPC for the plugins of others"
        node.come("csi")
        await node.harnesses[1].wait(lambda: node.drivers.log[-2:] == ["csi", "csi"])
        assert (node.devices.asked["csi"], node.volumes.asked["csi"]) == (2, 0), "another socket is another plugin"


async def test_a_failed_registration_is_tried_again_with_what_the_plugin_says_then(tmp_path: Path) -> None:
    async with Node(tmp_path, {"csi": CSI}) as node:
        node.drivers.failures = 1
        node.come("csi")
        node.first.start()
        node.second.start()
        await node.harnesses[1].wait(lambda: node.drivers.log == ["csi"])
        await node.harnesses[1].advance(0.5)
        assert node.drivers.log == ["csi", "csi"]
        assert node.volumes.asked["csi"] == 1


async def test_a_plugin_that_does_not_answer_the_first_watch_is_asked_by_the_second(tmp_path: Path) -> None:
    async with Node(tmp_path, {}) as node:
        node.come("csi")
        node.first.start()
        await node.harnesses[0].wait(lambda: node.devices.asked["csi"] == 1)
        node.volumes.kinds = {"csi": CSI}
        node.second.start()
        await node.harnesses[1].wait(lambda: node.drivers.log == ["csi"])
