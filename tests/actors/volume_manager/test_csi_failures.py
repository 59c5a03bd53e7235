"""What is left to undo of a volume whose driver failed: nothing where it failed for good."""

from __future__ import annotations

import contextlib
import json
import os

import msgspec
import pytest

from actors.volume_manager.csi.api_objects import DriverSpec
from actors.volume_manager.csi.errors import CallError, CsiError, NotAttachedError
from tests.actors.volume_manager.csi_storage import NAME, POD, Node, Storage


@pytest.mark.parametrize("method", ["attached", "stage", "publish"])
@pytest.mark.parametrize("code", ["INVALID_ARGUMENT", "DEADLINE_EXCEEDED"])
@pytest.mark.parametrize("restarts", [False, True])
async def test_a_volume_unknown_to_its_driver_is_removed_without_the_driver(
    node: Node, storage: Storage, method: str, code: str, restarts: bool
) -> None:
    """The kubelet's isFinalError: a driver that has refused for good has nothing that would have to be undone."""
    storage.spec = DriverSpec()
    storage.fails[method] = NotAttachedError("no") if method == "attached" else CallError(method, "no", code)
    async with node.harness:
        assert await node.mount() == await node.mount() != ""
        storage.there = False  # the driver is removed, for good
        later = Node(node.root, storage) if restarts else node
        async with later.harness if restarts else contextlib.nullcontext():
            error = await later.unmount()
            if (method, code) == ("publish", "DEADLINE_EXCEEDED"):
                assert error == "pv: kubernetes.io/csi: driver name d.test not found", "it may be published"
            else:
                assert error == ""
                assert os.listdir(f"{node.root}/pods/u/volumes/kubernetes.io~csi") == []
            is_staged = method == "publish" or (method, code) == ("stage", "DEADLINE_EXCEEDED")
            assert later.in_use() == ([NAME] if is_staged else [])
    assert "unpublish" not in storage.calls


async def test_a_published_volume_with_a_later_final_error_is_still_unpublished(node: Node, storage: Storage) -> None:
    async with node.harness:
        assert await node.mount("w") == ""
        later = Node(node.root, storage)  # it stages the volume again for the next pod
        async with later.harness:
            storage.fails["stage"] = CallError("NodeStageVolume", "no", "INTERNAL")
            assert await later.mount("u") == "no"
            storage.fails.clear()
            assert await later.unmount("u") == ""
            assert "unpublish" not in storage.calls
            assert await later.unmount("w") == ""
    assert storage.calls[-2:] == ["unpublish", "unstage"]


@pytest.mark.parametrize("method", ["attached", "stage"])
@pytest.mark.parametrize("code", ["INVALID_ARGUMENT", "DEADLINE_EXCEEDED"])
@pytest.mark.parametrize("restarts", [False, True])
async def test_a_device_unknown_to_its_driver_is_removed_without_the_driver(
    node: Node, storage: Storage, method: str, code: str, restarts: bool
) -> None:
    storage.spec = DriverSpec()
    storage.fails[method] = NotAttachedError("no") if method == "attached" else CallError(method, "no", code)
    async with node.harness:
        assert await node.mounting.mount(POD, node.device()) is not None
        storage.there = False
        later = Node(node.root, storage) if restarts else node
        async with later.harness if restarts else contextlib.nullcontext():
            error = await later.unmount()
            if (method, code) == ("stage", "DEADLINE_EXCEEDED"):
                assert error == "pv: kubernetes.io/csi: driver name d.test not found", "it may be staged"
                assert later.in_use() == [NAME]
            else:
                assert (error, later.in_use()) == ("", [])
                assert not os.path.exists(f"{node.root}/plugins/kubernetes.io/csi/volumeDevices/pv")
    assert "unpublish" not in storage.calls
    assert "unstage" not in storage.calls


async def test_a_stage_with_a_final_error_after_an_uncertain_one_is_not_unstaged(node: Node, storage: Storage) -> None:
    """The kubelet's markDeviceErrorState: an error that ends the operation ends the doubt, too."""
    async with node.harness:
        for step in (node.step(), node.device()):
            for code in ("DEADLINE_EXCEEDED", "INVALID_ARGUMENT"):
                storage.fails["stage"] = CallError("NodeStageVolume", "no", code)
                assert await node.mounting.mount(POD, step) is not None
            storage.there = False
            assert await node.unmount() == ""
            storage.there = True
    assert storage.calls == ["stage"] * 4


async def test_a_device_with_a_final_error_in_one_pod_stays_staged_for_another(node: Node, storage: Storage) -> None:
    async with node.harness:
        assert await node.mounting.mount(POD, node.device("w")) is None
        later = Node(node.root, storage)  # it stages the device again for the next pod
        async with later.harness:
            storage.fails["stage"] = CallError("NodeStageVolume", "no", "INTERNAL")
            assert await later.mounting.mount(POD, later.device("u")) is not None
            storage.fails.clear()
            assert await later.unmount("u") == ""
            assert "unstage" not in storage.calls
            assert await later.unmount("w") == ""
    assert storage.calls[-2:] == ["unpublish", "unstage"]


async def test_a_device_of_another_volume_of_the_same_name_may_exist_at_its_driver(
    node: Node, storage: Storage
) -> None:
    storage.fails["stage"] = CallError("NodeStageVolume", "no", "INTERNAL")
    step = node.device()
    async with node.harness:
        assert await node.mounting.mount(POD, step) is not None
        other = msgspec.structs.replace(step, source=msgspec.structs.replace(step.source, handle="other"))
        storage.fails = {"attached": CsiError("no")}
        storage.spec = DriverSpec()
        assert await node.mounting.mount(POD, other) is not None
        storage.there = False
        assert await node.unmount() == "pv: kubernetes.io/csi: driver name d.test not found"


async def test_a_kubelet_reads_the_record_of_a_volume_and_an_earlier_record_is_read(
    node: Node, storage: Storage
) -> None:
    """The kubelet's loadVolumeData takes a map of strings and nothing else."""
    file = node.root / "pods/u/volumes/kubernetes.io~csi/pv/vol_data.json"
    async with node.harness:
        assert await node.mount() == ""
        found = json.loads(file.read_bytes())
        assert {type(value) for value in found.values()} == {str}
        assert (found.pop("state"), found["driverName"], found["volumeHandle"]) == ("published", "d.test", "h")
        file.write_text(json.dumps({**found, "ready": True}))
        assert await node.mount() == ""
        assert storage.calls == ["stage", "publish"]
        file.write_text(json.dumps(found))
        assert await node.unmount() == "", "the kubelet's record does not say how far it came"
    assert storage.calls[-2:] == ["unpublish", "unstage"]
