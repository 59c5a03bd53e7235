"""A device manager in a root directory of its own, for tests of device plugins."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

from actors.api_clients.heartbeat_client.messages import DeviceResources
from actors.device_manager.actor import DeviceManager
from actors.device_manager.checkpoint import NAME
from actors.device_manager.messages import AllocateDevices, DeviceRequest, Devices, GetDevices, PrepareDevices
from actors.shared.config.agent import Agent
from supervision.testing.harness import Harness

from .device_plugin import FakeDevicePlugin

THING = "vendor.test/thing"


class Node:
    """A root directory, and the device managers that live in it one after the other."""

    def __init__(self, root: Path) -> None:
        self.root, self.lives = str(root), 0
        for name in ("device-plugins", "plugins_registry", "run"):
            (root / name).mkdir()
        self.harness: Harness[DeviceManager] = self.life()

    def life(self, incarnation: int = 0, *, standalone: bool = False) -> Harness[DeviceManager]:
        self.lives += 1
        agent = Agent(root_dir=self.root, run_dir=f"{self.root}/run", standalone=standalone)
        number = incarnation or self.lives
        harness: Any = Harness(DeviceManager, name="device_manager", incarnation=number, context=agent)
        harness.actor._clock = lambda: harness.clock.now
        self.harness = harness
        return self.harness

    async def kill(self) -> None:
        """What the kernel does when the process ends, which nothing notices here."""
        await self.harness.actor._devices.stop()

    def plugin(self, **more: Any) -> FakeDevicePlugin:
        return FakeDevicePlugin(self.root, **more)

    async def join(self, plugin: FakeDevicePlugin) -> None:
        """The plugin registers, and its devices are known."""
        if not plugin.by_registry:
            await asyncio.to_thread(plugin.register)
        await self.reported({plugin.resource: len(plugin.devices)})

    async def reported(self, capacity: dict[str, int], allocatable: dict[str, int] | None = None) -> None:
        def fits(one: DeviceResources) -> bool:
            return capacity.items() <= one.capacity.items() and (
                allocatable is None or allocatable.items() <= one.allocatable.items()
            )

        def last() -> bool:
            found = self.harness.sent(DeviceResources)
            return bool(found) and fits(found[-1])

        await self.harness.wait(last, f"{capacity} {allocatable}", timeout=30)

    async def allocate(self, uid: str = "u", container: str = "c", count: int = 1, **more: Any) -> Any:
        finished, amounts = more.pop("finished", []), more.pop("amounts", {THING: count})
        request = DeviceRequest(uid=uid, container=container, amounts=amounts, finished=finished)
        return await self.harness.deliver(AllocateDevices(request=request, **more), timeout=30)

    async def prepare(self, uid: str = "u", container: str = "c", count: int = 1) -> Any:
        request = DeviceRequest(uid=uid, container=container, amounts={THING: count})
        return await self.harness.deliver(PrepareDevices(request), timeout=30)

    async def held(self) -> dict[str, set[str]]:
        """Devices by `pod/container`."""
        found: Devices = await self.harness.deliver(GetDevices())
        return {
            f"{uid}/{name}": {one for listed in devices for one in listed.ids}
            for uid, containers in found.containers.items()
            for name, devices in containers.items()
        }

    def checkpoint(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(Path(self.root, "device-plugins", NAME).read_text())["Data"]
        return found
