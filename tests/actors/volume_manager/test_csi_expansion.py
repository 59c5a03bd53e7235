"""Volumes that grow: the driver expands them on this node, and claim and pod say so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from actors.api_clients.event_client.messages import RecordEvent
from actors.shared.kube.codec import decode, encode
from actors.shared.kube.persistent_volumes import PersistentVolume, PersistentVolumeClaim
from actors.volume_manager.csi import records
from actors.volume_manager.csi.errors import CallError, PlainError
from actors.volume_manager.csi.model import CsiMount, Driver
from tests.actors.volume_manager.csi_storage import POD, Node, Storage

GIB = 1 << 30


class GrowingStorage(Storage):
    """Its driver expands; the claim and its volume are objects of an API server."""

    def __init__(self) -> None:
        super().__init__()
        self.stages = True
        self.claim_body: dict[str, Any] = {
            "metadata": {"name": "c", "namespace": "ns", "uid": "cu", "resourceVersion": "1"},
            "spec": {"resources": {"requests": {"storage": "1Gi"}}},
            "status": {"capacity": {"storage": "1Gi"}},
        }
        self.size = "1Gi"
        self.expanded: list[tuple[str, str, int]] = []

    def grow(self) -> None:
        """As the controller leaves it when its half is done."""
        self.size = "2Gi"
        self.claim_body["spec"]["resources"]["requests"] = {"storage": "2Gi"}
        self.status["allocatedResources"] = {"storage": "2Gi"}
        self.status["allocatedResourceStatuses"] = {"storage": "NodeResizePending"}
        self.status["conditions"] = [{"type": "FileSystemResizePending", "status": "True"}]

    @property
    def status(self) -> dict[str, Any]:
        found: dict[str, Any] = self.claim_body["status"]
        return found

    def get(self, name: str) -> tuple[Driver, Any]:
        driver, connection = super().get(name)
        return msgspec.structs.replace(driver, expands=True, stages=self.stages), connection

    async def claim(self, namespace: str, name: str) -> PersistentVolumeClaim:
        assert (namespace, name) == ("ns", "c")
        return decode(encode(self.claim_body), PersistentVolumeClaim)

    async def persistent_volume(self, name: str) -> PersistentVolume:
        self.calls.append("volume")
        return decode(encode({"spec": {"capacity": {"storage": self.size}}}), PersistentVolume)

    async def patch_claim_status(self, claim: PersistentVolumeClaim, status: dict[str, Any]) -> PersistentVolumeClaim:
        self._note("patch")
        for field, value in status.items():
            if isinstance(value, dict):
                merged = {**self.status.get(field, {}), **value}
                value = {name: one for name, one in merged.items() if one is not None}
            self.status[field] = value
        return await self.claim("ns", "c")

    async def expand(self, driver: Driver, step: CsiMount, staged: str, size: int, secrets: Any) -> None:
        self._note("expand")
        self.expanded.append((step.path, staged, size))


class ClaimNode(Node):
    def step(self, uid: str = "u", group: int | None = None) -> CsiMount:
        return msgspec.structs.replace(super().step(uid, group), claim="c")

    def events(self) -> list[tuple[str, str, str]]:
        return [(one.kind, one.reason, one.message) for one in self.harness.sent(RecordEvent)]


@pytest.fixture
def storage(monkeypatch: pytest.MonkeyPatch) -> GrowingStorage:
    found = GrowingStorage()
    monkeypatch.setattr(records, "mounted", lambda path: path in found.mounts)
    return found


@pytest.fixture
def node(tmp_path: Path, storage: GrowingStorage) -> ClaimNode:
    return ClaimNode(tmp_path, storage)


SUCCESS = ("FileSystemResizeSuccessful", 'MountVolume.NodeExpandVolume succeeded for volume "pv" node')


async def test_a_volume_in_use_grows_when_its_claim_waits_for_the_node(
    node: ClaimNode, storage: GrowingStorage
) -> None:
    async with node.harness:
        node.mounting.start()
        assert await node.mount() == await node.mount("w") == ""
        await node.harness.advance(130)
        assert (storage.expanded, "volume" in storage.calls) == ([], False)
        storage.grow()
        await node.harness.advance(70)
        staged = storage.calls  # once, although two pods use it
        assert staged.count("expand") == 1
        ((path, at, size),) = storage.expanded
        assert path in {node.step().path, node.step("w").path}
        assert (Path(at).name, size) == ("globalmount", 2 * GIB)
        assert storage.status == {
            "capacity": {"storage": "2Gi"},
            "allocatedResources": {"storage": "2Gi"},
            "allocatedResourceStatuses": {},
            "conditions": [],
        }
        assert node.events() == [("Pod", *SUCCESS), ("PersistentVolumeClaim", *SUCCESS)]
        await node.harness.advance(130)
        assert len(storage.expanded) == 1


@pytest.mark.parametrize("stages", [True, False])
async def test_a_volume_that_grew_before_is_expanded_as_it_is_mounted(
    node: ClaimNode, storage: GrowingStorage, stages: bool
) -> None:
    storage.stages = stages
    storage.grow()
    async with node.harness:
        assert await node.mount() == ""
        assert storage.calls.index("publish") < storage.calls.index("expand")
        ((path, staged, _),) = storage.expanded
        assert (path, bool(staged)) == (node.step().path, stages)
        assert storage.status["capacity"] == {"storage": "2Gi"}


async def test_a_claim_that_another_node_has_expanded_is_not_written(node: ClaimNode, storage: GrowingStorage) -> None:
    async with node.harness:
        node.mounting.start()
        assert await node.mount() == ""
        storage.grow()
        storage.claim_body["spec"]["accessModes"] = ["ReadWriteMany"]
        storage.status.update(capacity={"storage": "2Gi"}, allocatedResourceStatuses={}, conditions=[])
        await node.harness.advance(70)
        assert len(storage.expanded) == 1
        assert "patch" not in storage.calls


async def test_a_volume_that_the_controller_has_expanded_alone_is_read_once(
    node: ClaimNode, storage: GrowingStorage
) -> None:
    async with node.harness:
        node.mounting.start()
        assert await node.mount() == ""
        storage.grow()
        storage.status.update(capacity={"storage": "2Gi"}, allocatedResourceStatuses={}, conditions=[])
        await node.harness.advance(200)
        assert (storage.expanded, storage.calls.count("volume")) == ([], 1)


async def test_a_failing_driver_is_reported_and_retried_soon(node: ClaimNode, storage: GrowingStorage) -> None:
    """As the kubelet: after 0.5 s, then after twice the last pause."""
    rpc = "rpc error: code = Internal desc = no"
    failed = f"Expander.NodeExpand failed to expand the volume : {rpc}"
    async with node.harness:
        node.mounting.start()
        assert await node.mount() == ""
        storage.grow()
        storage.fails["expand"] = CallError("NodeExpandVolume", rpc, "INTERNAL")
        await node.harness.advance(68)  # the first try is at 60 to 66 s, the next two 0.5 and 1.5 s later
        text = f'NodeExpandVolume.NodeExpandVolume failed for volume "pv" : {failed}'
        assert set(node.events()) == {("Pod", "VolumeResizeFailed", text)}
        assert [one["type"] for one in storage.status["conditions"]] == ["FileSystemResizePending", "NodeResizeError"]
        assert storage.status["conditions"][1]["message"] == f"failed to expand pvc with {failed}"
        assert storage.calls.count("expand") >= 3
        storage.fails.clear()
        await node.harness.advance(20)
        assert (len(storage.expanded), storage.status["conditions"]) == (1, [])


async def test_an_unused_volume_is_not_expanded_again(node: ClaimNode, storage: GrowingStorage) -> None:
    async with node.harness:
        node.mounting.start()
        assert await node.mount() == ""
        storage.grow()
        storage.fails["expand"] = CallError("NodeExpandVolume", "rpc error", "INTERNAL")
        await node.harness.advance(67)
        assert await node.unmount() == ""
        calls = storage.calls.count("expand")
        await node.harness.advance(300)
        assert storage.calls.count("expand") == calls
        storage.fails.clear()
        assert await node.mount() == ""
        assert len(storage.expanded) == 1


async def test_a_volume_whose_expansion_fails_is_not_mounted(node: ClaimNode, storage: GrowingStorage) -> None:
    storage.grow()
    storage.fails["expand"] = CallError("NodeExpandVolume", "too large", "OUT_OF_RANGE")
    async with node.harness:
        assert (
            await node.mount() == "Expander.NodeExpand failed to expand the volume too large"
        )  # so that the pod does not start
        assert storage.status["allocatedResourceStatuses"] == {"storage": "NodeResizeInfeasible"}


async def test_a_driver_without_online_expansion_is_called_once_and_the_pod_runs(
    node: ClaimNode, storage: GrowingStorage
) -> None:
    storage.grow()
    storage.fails["expand"] = CallError("NodeExpandVolume", "in use", "FAILED_PRECONDITION")
    async with node.harness:
        node.mounting.start()
        assert await node.mount() == ""
        await node.harness.advance(200)
        assert storage.calls.count("expand") == 1
        assert await node.unmount() == ""
        storage.fails.clear()
        assert await node.mount() == ""
        assert len(storage.expanded) == 1


async def test_a_read_only_or_unused_volume_is_not_expanded(node: ClaimNode, storage: GrowingStorage) -> None:
    async with node.harness:
        node.mounting.start()
        only_read = msgspec.structs.replace(node.step(), read_only=True)
        assert await node.mounting.mount(POD, only_read) is None
        assert await node.mount("w") == ""
        assert await node.unmount("w") == ""
        storage.grow()
        await node.harness.advance(130)
        assert storage.expanded == []


async def test_a_grown_volume_that_is_mounted_read_only_is_reported_and_keeps_its_size(
    node: ClaimNode, storage: GrowingStorage
) -> None:
    text = 'MountVolume.NodeExpandVolume failed for volume "pv" requested read-only file system'
    async with node.harness:
        only_read = msgspec.structs.replace(node.step(), read_only=True)
        assert await node.mounting.mount(POD, only_read) is None
        assert node.events() == [], "it has not grown"
        assert await node.unmount() == ""
        storage.grow()
        assert await node.mounting.mount(POD, only_read) is None
        assert node.events() == [(kind, "FileSystemResizeFailed", text) for kind in ("Pod", "PersistentVolumeClaim")]
        assert storage.expanded == []


async def test_a_read_only_volume_is_mounted_despite_an_unreadable_claim(
    node: ClaimNode, storage: GrowingStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def away(namespace: str, name: str) -> PersistentVolumeClaim:
        raise PlainError("connection refused")

    monkeypatch.setattr(storage, "claim", away)
    async with node.harness:
        assert await node.mounting.mount(POD, msgspec.structs.replace(node.step(), read_only=True)) is None
        assert node.events() == []


async def test_a_later_incarnation_resumes_expansion_from_the_claim(node: ClaimNode, storage: GrowingStorage) -> None:
    async with node.harness:
        assert await node.mount() == ""
    storage.grow()
    storage.status["allocatedResourceStatuses"] = {"storage": "NodeResizeInProgress"}
    later = ClaimNode(node.root, storage)
    async with later.harness:
        later.mounting.start()
        assert await later.mount() == ""  # its worker orders it again
        await later.harness.advance(70)
        assert len(storage.expanded) == 1
        assert storage.status["capacity"] == {"storage": "2Gi"}


async def test_an_invalid_size_affects_only_its_volume(node: ClaimNode, storage: GrowingStorage) -> None:
    async with node.harness:
        node.mounting.start()
        assert await node.mount() == ""
        storage.grow()
        storage.size = "huge"
        await node.harness.advance(70)
        assert storage.expanded == []
        assert await node.mount("w") == "kubernetes.io/csi: not a quantity: 'huge'"
        storage.size = "2Gi"
        await node.harness.advance(70)
        assert len(storage.expanded) == 1
