"""Drivers, a driver and an API server for tests of CSI volumes, and a volume manager's volumes with them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from actors.api_clients.heartbeat_client.messages import VolumesInUse
from actors.shared.config.agent import Agent
from actors.shared.keyed_locks import KeyedLocks
from actors.shared.kube.codec import decode_pod, encode
from actors.shared.kube.pod import Pod
from actors.volume_manager.csi.api_objects import DriverSpec
from actors.volume_manager.csi.errors import CsiError, UnknownDriverError
from actors.volume_manager.csi.model import CsiMount, CsiVolume, Driver, device_paths
from actors.volume_manager.csi.records import Records
from actors.volume_manager.csi.volume_stats import DriverMeasurements
from actors.volume_manager.csi.volumes import CsiContext, CsiVolumes
from actors.volume_manager.tools.in_use_report import InUseReport
from supervision.actor import Actor
from supervision.testing.harness import Harness
from supervision.testing.virtual_clock import VirtualClock

POD = decode_pod(encode({"metadata": {"name": "p", "namespace": "ns", "uid": "u"}}))
NAME = "kubernetes.io/csi/d.test^h"


class Storage:
    """Drivers, driver and API server in one; `fails` by method."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.fails: dict[str, str | CsiError] = {}
        self.spec = DriverSpec(attachRequired=False, fsGroupPolicy="File")
        self.there = True
        self.mounts: set[str] = set()

    names = ["d.test"]

    def get(self, name: str) -> tuple[Driver, Any]:
        if not self.there:
            raise UnknownDriverError(f"driver name {name} not found")
        return Driver(name=name, endpoint="", node_id="n", stages=True), self

    def start(self) -> None:
        return

    def _note(self, method: str) -> None:
        self.calls.append(method)
        error = self.fails.get(method)
        if error is not None:
            raise CsiError(error) if isinstance(error, str) else error

    async def driver(self, name: str) -> DriverSpec:
        return self.spec

    async def watched_driver(self, name: str) -> DriverSpec:
        return self.spec

    async def refresh(self, name: str) -> None:
        self._note("refresh")

    async def attached(self, name: str, what: str) -> dict[str, str]:
        self._note("attached")
        return {}

    async def check_in_use(self, node: str, name: str) -> None:
        self._note("check_in_use")

    async def secret(self, of: Any, field: str) -> dict[str, str]:
        return {}

    async def stage(self, driver: Driver, step: CsiMount, path: str, *rest: Any) -> None:
        self._note("stage")
        self.mounts.add(path)

    async def publish(self, driver: Driver, step: CsiMount, *rest: Any) -> None:
        self._note("publish")
        self.mounts.add(step.path)

    async def unpublish(self, handle: str, path: str) -> None:
        self._note("unpublish")
        self.mounts.discard(path)

    async def unstage(self, handle: str, path: str) -> None:
        self._note("unstage")
        self.mounts.discard(path)

    async def give(self, pod: Pod, path: str, group: int, on_root_mismatch: bool) -> str:
        self.calls.append("give")
        return str(self.fails.get("give", ""))


class Nobody(Actor):
    pass


class Node:
    def __init__(self, root: Path, storage: Storage) -> None:
        self.root, self.storage = root, storage
        self.harness = Harness(Nobody, name="volume_manager", context=Agent(root_dir=str(root)))
        self.pods = KeyedLocks()
        kept = Records(f"{root}/pods", f"{root}/plugins")
        used: Any = storage
        measurements = DriverMeasurements(self.harness.actor, used, VirtualClock(), period=60.0, health=False)
        report = InUseReport(self.harness.actor)
        report.add(kept.in_use)
        around: Any = (
            self.harness.actor, storage, storage, kept, None, storage.give, "node", self.pods, measurements,
            report.tell, 60.0,
        )  # fmt: skip
        self.mounting = CsiVolumes(CsiContext(*around))

    def step(self, uid: str = "u", group: int | None = None) -> CsiMount:
        path = f"{self.root}/pods/{uid}/volumes/kubernetes.io~csi/pv/mount"
        return CsiMount(volume="v", path=path, source=CsiVolume(name="pv", driver="d.test", handle="h"), group=group)

    def device(self, uid: str = "u") -> CsiMount:
        paths = device_paths(f"{self.root}/plugins", f"{self.root}/pods/{uid}", "pv")
        source = CsiVolume(name="pv", driver="d.test", handle="h", block=True)
        return CsiMount(volume="v", path=paths.target, device=paths, source=source)

    async def mount(self, uid: str = "u", **more: Any) -> str:
        """The error's text."""
        error = await self.mounting.mount(POD, self.step(uid, **more))
        return "" if error is None else error.text

    async def unmount(self, uid: str = "u") -> str:
        error = await self.mounting.unmount(f"{self.root}/pods/{uid}")
        await self.harness.settle()  # it is unstaged after the answer
        return error

    def in_use(self) -> list[str]:
        return self.harness.sent(VolumesInUse, "api_clients/heartbeat_client")[-1].names
