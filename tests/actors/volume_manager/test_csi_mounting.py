"""What becomes of volumes of drivers when something fails on the way: nothing is taken for done that is not."""

from __future__ import annotations

import asyncio
import os
from typing import Any

import pytest

from actors.api_clients.event_client.messages import EVENT_CLIENT, RecordEvent
from actors.volume_manager.csi.api_objects import DriverSpec
from actors.volume_manager.csi.errors import CallError, CsiError, ExhaustedError, NotAttachedError
from actors.volume_manager.csi.model import CsiMount, CsiVolume
from actors.volume_manager.failure_texts import MountError
from tests.actors.volume_manager.csi_storage import NAME, POD, Node, Storage
from tests.support.present import present


async def test_a_volume_is_not_mounted_before_the_nodes_status_has_it_in_use(node: Node, storage: Storage) -> None:
    storage.spec = DriverSpec(fsGroupPolicy="File")
    storage.fails["check_in_use"] = NotAttachedError("has not been added to the list of VolumesInUse")
    async with node.harness:
        error = await node.mounting.mount(POD, node.step())
        assert error is not None
        assert error.waits
        assert node.in_use() == [NAME], "the node is not asked to say so"
        assert storage.calls == ["attached", "check_in_use"]
        storage.fails.clear()
        assert await node.mount() == ""
        storage.calls.clear()
        storage.fails["check_in_use"] = "the API server is away"
        assert await node.mount() == "", "one that is mounted needs no server"
        assert storage.calls == []
        assert await node.unmount() == ""
    assert storage.calls == ["unpublish", "unstage"]


async def test_a_volume_is_published_once_despite_repeated_requests(node: Node, storage: Storage) -> None:
    async with node.harness:
        assert await node.mount(group=7) == ""
        assert await node.mount(group=7) == ""
        assert storage.calls == ["stage", "publish", "give"]


@pytest.mark.parametrize("device", [False, True])
async def test_a_volume_is_staged_once_for_all_its_pods_and_tries(node: Node, storage: Storage, device: bool) -> None:
    """The kubelet calls NodeStageVolume again only where it does not know whether the volume is staged."""

    async def mount(uid: str) -> bool:
        if device:
            return await node.mounting.mount(POD, node.device(uid)) is None
        return await node.mount(uid) == ""

    async with node.harness:
        storage.fails["publish"] = CallError("NodePublishVolume", "busy", "UNAVAILABLE")
        assert [await mount("u"), await mount("u")] == [False, False]
        storage.fails.clear()
        assert [await mount("u"), await mount("w")] == [True, True]
        assert storage.calls == ["stage", *["publish"] * 4]
        storage.fails["unstage"] = "busy"
        assert [await node.unmount("u"), await node.unmount("w")] == ["", ""]
        assert await mount("x")
        assert storage.calls[-3:] == ["unstage", "stage", "publish"]


async def test_a_missing_publish_secret_is_noticed_after_the_volume_is_staged(
    node: Node, storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def secret(of: Any, field: str) -> dict[str, str]:
        if field == "NodePublishSecretRef":
            raise CsiError("no such secret")
        return {}

    monkeypatch.setattr(storage, "secret", secret)
    async with node.harness:
        assert "no such secret" in await node.mount()
        assert storage.calls == ["stage"]
        assert await node.unmount() == ""
        assert storage.calls == ["stage", "unstage"]


async def test_a_volume_whose_ownership_change_failed_is_not_complete(node: Node, storage: Storage) -> None:
    async with node.harness:
        storage.fails["give"] = "too many files"
        assert "applyFSGroup failed for vol h: too many files" in await node.mount(group=7)
        again = Node(node.root, storage)  # the volume manager died meanwhile
        storage.fails.clear()
        async with again.harness:
            assert await again.mount(group=7) == ""
        assert storage.calls[-3:] == ["stage", "publish", "give"]


async def test_a_volume_is_in_use_from_before_the_call_to_its_driver_until_it_is_unpublished(
    node: Node, storage: Storage
) -> None:
    async with node.harness:
        storage.spec = DriverSpec()
        storage.fails["attached"] = NotAttachedError("volume h is not attached yet")
        assert present(await node.mounting.mount(POD, node.step())).waits
        assert (storage.calls, node.in_use()) == (["attached"], [NAME])
        storage.fails = {"publish": "no"}
        assert await node.mount() == "kubernetes.io/csi: no"
        storage.fails = {"unpublish": "not now"}
        assert await node.unmount() == "pv: kubernetes.io/csi: not now"
        assert node.in_use() == [NAME]
        storage.fails.clear()
        assert await node.unmount() == ""
        assert storage.calls[-2:] == ["unpublish", "unstage"]
        assert (node.in_use(), storage.mounts) == ([], set())


async def test_a_volume_is_unstaged_with_its_last_pod_in_any_incarnation(node: Node, storage: Storage) -> None:
    async with node.harness:
        assert await node.mount("u") == await node.mount("w") == ""
        later = Node(node.root, storage)
        async with later.harness:
            assert await later.unmount("u") == ""
            assert "unstage" not in storage.calls
            assert await later.unmount("w") == ""
        assert storage.calls[-1] == "unstage"
        assert os.listdir(f"{node.root}/plugins/kubernetes.io/csi/d.test") == []


@pytest.mark.parametrize("fails", ["attached", "stage", "publish", ""])
async def test_a_device_is_staged_once_and_unstaged_by_a_later_incarnation(
    node: Node, storage: Storage, fails: str
) -> None:
    async with node.harness:
        storage.spec = DriverSpec()
        if fails:
            storage.fails[fails] = "no"
            assert present(await node.mounting.mount(POD, node.device())).text == "kubernetes.io/csi: no"
            assert node.in_use() == [NAME]
            storage.fails.clear()
        for uid in ("u", "w", "u"):
            assert await node.mounting.mount(POD, node.device(uid)) is None
        assert storage.calls.count("publish") == 2 + (fails == "publish")
        assert os.path.lexists(present(node.device("w").device).link)
        later = Node(node.root, storage)
        async with later.harness:
            assert await later.unmount("u") == ""
            assert "unstage" not in storage.calls
            assert await later.unmount("w") == ""
            assert storage.calls[-1] == "unstage"
            assert (storage.mounts, later.in_use()) == (set(), [])
        assert os.listdir(f"{node.root}/plugins/kubernetes.io/csi/volumeDevices/publish") == []
        assert not os.path.lexists(f"{node.root}/plugins/kubernetes.io/csi/volumeDevices/pv")


@pytest.mark.parametrize("fails", ["attached", "stage", "publish"])
async def test_a_device_that_could_not_be_published_is_unpublished_with_its_pod(
    node: Node, storage: Storage, fails: str
) -> None:
    async with node.harness:
        storage.spec, storage.fails = DriverSpec(), {fails: "no"}
        await node.mounting.mount(POD, node.device())
        storage.fails.clear()
        assert await node.unmount() == ""
        assert (storage.mounts, node.in_use()) == (set(), [])


async def test_a_volume_that_stayed_staged_is_unstaged_once_its_driver_registers(node: Node, storage: Storage) -> None:
    async with node.harness:
        storage.spec = DriverSpec()
        await node.mount()
        storage.fails["unstage"] = "busy"
        assert await node.unmount() == ""  # the pod does not wait
        assert node.in_use() == [NAME]
        storage.fails.clear()
        storage.there = False
        await node.mounting.sweep()
        assert storage.mounts
        storage.there = True
        await node.mounting.sweep()
        assert (storage.mounts, node.in_use()) == (set(), [])


async def test_unstaging_that_failed_is_retried_as_often_as_by_the_kubelet(node: Node, storage: Storage) -> None:
    """The volume may be wanted on another node, which waits for it."""
    async with node.harness:
        storage.spec = DriverSpec()
        await node.mount()
        storage.fails["unstage"] = "busy"
        assert await node.unmount() == ""
        tries = []
        for _ in range(8):
            await node.harness.advance(0.5)
            tries.append(storage.calls.count("unstage"))
        assert tries == [2, 2, 3, 3, 3, 3, 4, 4]
        storage.fails.clear()
        await node.harness.advance(4.0)
        assert (storage.calls.count("unstage"), storage.mounts, node.in_use()) == (5, set(), [])
        await node.harness.advance(300.0)
        assert storage.calls.count("unstage") == 5


async def test_a_volume_that_an_earlier_incarnation_left_staged_is_unstaged_soon_after_the_start(
    node: Node, storage: Storage
) -> None:
    async with node.harness:
        storage.spec = DriverSpec()
        await node.mount()
        storage.fails["unstage"] = "busy"
        assert await node.unmount() == ""
    storage.fails.clear()
    storage.there = False  # it registers a little later
    later = Node(node.root, storage)
    async with later.harness:
        later.mounting.start()
        await later.harness.settle()
        storage.there = True
        await later.harness.advance(1.0)
        assert (storage.mounts, later.in_use()) == (set(), [])


async def test_a_driver_that_hangs_in_unstaging_delays_no_pod(
    node: Node, storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate, real = asyncio.Event(), storage.unstage

    async def slow(handle: str, path: str) -> None:
        await gate.wait()
        await real(handle, path)

    monkeypatch.setattr(storage, "unstage", slow)
    async with node.harness:
        storage.spec = DriverSpec()
        assert await node.mount() == ""
        assert await node.unmount() == ""
        again = asyncio.ensure_future(node.mount("w"))
        await node.harness.settle()
        assert not again.done()  # it is staged again after that
        assert node.in_use() == [NAME]
        gate.set()
        assert await again == ""
        assert storage.calls[-4:] == ["attached", "check_in_use", "stage", "publish"]


async def test_without_its_driver_a_volume_stays_as_it_is(node: Node, storage: Storage) -> None:
    async with node.harness:
        assert await node.mount() == ""
        storage.there = False
        assert await node.mount() == ""
        assert await node.unmount() == "pv: kubernetes.io/csi: driver name d.test not found"
        shortage = "attacher.MountDevice failed to create newCsiDriverClient: driver name d.test not found"
        assert await node.mount("w") == f"kubernetes.io/csi: {shortage}"


async def test_volumes_of_an_earlier_incarnation_are_followed_once_their_driver_registers(
    node: Node, storage: Storage
) -> None:
    storage.spec = DriverSpec(attachRequired=False, requiresRepublish=True)
    async with node.harness:
        assert await node.mount() == ""
        assert await node.mount("w") == ""
    later = Node(node.root, storage)
    storage.there = False
    async with later.harness:
        later.mounting.start()
        for uid in ("u", "w"):
            assert await later.mount(uid) == "", "what is mounted stays"
        storage.there = True
        assert await later.unmount("w") == ""
        storage.calls.clear()
        await later.harness.advance(70)
        await later.harness.advance(70)
        assert storage.calls.count("publish") == 1
        assert await later.unmount() == ""


async def test_a_driver_that_requires_republishing_is_called_periodically(node: Node, storage: Storage) -> None:
    async with node.harness:
        storage.spec = DriverSpec(attachRequired=False, requiresRepublish=True)
        assert await node.mount() == ""
        node.mounting.start()
        await node.harness.advance(70)
        assert storage.calls.count("publish") == 2
        await node.unmount()
        await node.harness.advance(70)
        assert storage.calls.count("publish") == 2


@pytest.mark.parametrize("waits_for", ["driver", "secret", "attached", "publish"])
async def test_a_volume_that_is_unpublished_while_it_is_republished_stays_unpublished(
    node: Node, storage: Storage, monkeypatch: pytest.MonkeyPatch, waits_for: str
) -> None:
    begun, gate, real = asyncio.Event(), asyncio.Event(), getattr(storage, waits_for)

    async def slow(*arguments: Any) -> Any:
        answer = await real(*arguments)
        begun.set()
        await gate.wait()
        return answer

    async with node.harness:
        storage.spec = DriverSpec(fsGroupPolicy="File", requiresRepublish=True)
        assert await node.mount(group=7) == ""
        monkeypatch.setattr(storage, waits_for, slow)
        node.mounting.start()
        await node.harness.advance(70)
        assert begun.is_set()
        undoing = asyncio.ensure_future(node.unmount())
        await node.harness.settle()
        gate.set()
        assert await undoing == ""
        await node.harness.advance(200)
        assert (storage.mounts, node.in_use()) == (set(), [])
        assert not os.path.lexists(os.path.dirname(node.step().path))


async def test_a_volume_is_not_published_again_while_its_pod_is_mounted_or_unmounted(
    node: Node, storage: Storage
) -> None:
    async with node.harness:
        storage.spec = DriverSpec(attachRequired=False, requiresRepublish=True)
        assert await node.mount() == ""
        node.mounting.start()
        async with node.pods.hold(POD.metadata.uid):
            await node.harness.advance(70)
            assert storage.calls.count("publish") == 1
            assert await node.unmount() == ""
        await node.harness.settle()
        assert storage.calls.count("publish") == 1
        assert storage.mounts == set()


async def test_a_driver_that_cannot_publish_again_is_an_event_of_the_pod_which_keeps_its_volume(
    node: Node, storage: Storage
) -> None:
    async with node.harness:
        storage.spec = DriverSpec(attachRequired=False, requiresRepublish=True)
        assert await node.mount() == ""
        node.mounting.start()
        storage.fails["publish"] = CallError(
            "NodePublishVolume", "rpc error: code = Internal desc = no token", "INTERNAL"
        )
        await node.harness.advance(70)
        text = 'MountVolume.SetUp failed for volume "pv" : rpc error: code = Internal desc = no token'
        told = node.harness.sent(RecordEvent, EVENT_CLIENT)
        assert [(each.reason, each.message, each.name) for each in told] == [("FailedMount", text, "p")]
        assert storage.mounts
        storage.fails.clear()
        await node.harness.advance(70)
        assert len(node.harness.sent(RecordEvent, EVENT_CLIENT)) == 1


REFUSED = CallError("NodeCall", "rpc error: code = Internal desc = no", "INTERNAL")


@pytest.mark.parametrize(
    ("fails", "operation", "of_a_device"),
    [
        ("stage", "MountVolume.MountDevice", "MapVolume.SetUpDevice"),
        ("publish", "MountVolume.SetUp", "MapVolume.MapPodDevice"),
    ],
)
async def test_the_error_of_a_driver_is_reported_with_the_failed_step(
    node: Node, storage: Storage, fails: str, operation: str, of_a_device: str
) -> None:
    async with node.harness:
        storage.fails[fails] = REFUSED
        text = "rpc error: code = Internal desc = no"
        assert await node.mounting.mount(POD, node.step()) == MountError(text, operation)
        assert await node.mounting.mount(POD, node.device()) == MountError(text, of_a_device)


async def test_a_missing_driver_is_reported_with_the_first_step_that_needs_it(node: Node, storage: Storage) -> None:
    storage.there = False
    inline = CsiMount(volume="v", path="/v", source=CsiVolume(name="v", driver="d.test", handle="h", ephemeral=True))
    async with node.harness:
        found = [present(await node.mounting.mount(POD, step)) for step in (node.step(), node.device(), inline)]
    missing = "driver name d.test not found"
    assert [(error.operation, error.text) for error in found] == [
        (
            "MountVolume.MountDevice",
            f"kubernetes.io/csi: attacher.MountDevice failed to create newCsiDriverClient: {missing}",
        ),
        ("MapVolume.SetUpDevice", f"kubernetes.io/csi: blockMapper.SetUpDevice failed to get CSI client: {missing}"),
        ("MountVolume.SetUp", f"kubernetes.io/csi: mounter.SetUpAt failed to get CSI client: {missing}"),
    ]


@pytest.mark.parametrize(
    ("spec", "why"),
    [(DriverSpec(), 'only supports ["Persistent"]'), (DriverSpec(exists=False), "no CSIDriver object")],
)
async def test_a_mode_that_the_driver_does_not_have_is_reported_with_the_reason(
    node: Node, storage: Storage, spec: DriverSpec, why: str
) -> None:
    storage.spec = spec
    inline = CsiMount(volume="v", path="/v", source=CsiVolume(name="v", driver="d.test", handle="h", ephemeral=True))
    async with node.harness:
        error = present(await node.mounting.mount(POD, inline))
    modes = f'volume mode "Ephemeral" not supported by driver d.test ({why})'
    assert error.text == f"kubernetes.io/csi: mounter.SetupAt failed to check volume lifecycle mode: {modes}"


@pytest.mark.parametrize(("period", "exhausted"), [(None, False), (60, True)])
async def test_a_full_node_is_recognised_if_the_driver_requests_allocatable_updates(
    node: Node, storage: Storage, period: int | None, exhausted: bool
) -> None:
    storage.spec = DriverSpec(nodeAllocatableUpdatePeriodSeconds=period)
    async with node.harness:
        storage.fails["attached"] = ExhaustedError("volume h is not attached yet: no room")
        error = present(await node.mounting.mount(POD, node.step()))
        assert (error.waits, error.exhausted) == (True, exhausted)
        await node.harness.settle()
        assert storage.calls == ["attached", "refresh"][: 1 + exhausted]
