"""Network disks: attached once for all pods, when the attach controller has attached them, and detached after the
last pod, whatever the volume manager dies of meanwhile."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from actors.api_clients.heartbeat_client.messages import HEARTBEAT_CLIENT, VolumesInUse
from actors.shared.config.agent import Agent
from actors.shared.config.fields.kubelet_configuration import KubeletConfiguration
from actors.shared.linux import mountinfo
from actors.volume_manager.actor import VolumeManager
from actors.volume_manager.disks.model import IscsiDisk
from actors.volume_manager.disks.records import DiskRecords
from actors.volume_manager.host import unmounts
from actors.volume_manager.messages import MountVolumes, UnmountVolumes, VolumesFailed, VolumesMounted, VolumesUnmounted
from actors.volume_manager.tools import staged_disks
from actors.volume_manager.tools.staged_disks import RETRY_SECONDS
from actors.volume_manager.types import staged_disk
from supervision.actor import DisposableError
from supervision.testing.harness import Harness
from tests.actors.volume_manager.claiming_node import UID, VOLUME, ClaimingNode, persistent
from tests.actors.volume_manager.plain_volumes import pod

IQN = "iqn.2003-01.org.example:disk"
SOURCE = {"targetPortal": "10.0.0.1", "iqn": IQN, "lun": 2}
NAME = f"kubernetes.io/iscsi/10.0.0.1:{IQN}:2"
PLACE = f"kubernetes.io/iscsi/iface-default/10.0.0.1:3260-{IQN}-lun-2"
HOST = "actors.volume_manager.host"
ATTACH, DETACH = f"{HOST}.iscsi_attach:attach", f"{HOST}.iscsi_detach:detach"
MOUNT, BIND, UNMOUNT = (
    f"{HOST}.disk_format:mount_device",
    f"{HOST}.local_volumes:bind_volume",
    f"{HOST}.unmounts:unmount_all",
)
GROUP = f"{HOST}.ownership:apply_group"
NODE = "/api/v1/nodes/n1"
STEPS = (ATTACH, MOUNT, BIND, GROUP)


class DiskNode(ClaimingNode):
    """A node whose disks and mounts are made up: they outlive each volume manager."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__(root, monkeypatch)
        self._monkeypatch = monkeypatch
        self.attached: list[str] = []
        self.mounted: list[str] = []
        self.calls: list[str] = []
        self.dies_at = ""
        for module in (staged_disks, staged_disk, unmounts):
            monkeypatch.setattr(module, "is_mounted", lambda path: path in self.mounted)
        monkeypatch.setattr(staged_disk, "mounts_below", self._below)
        assert self.objects is not None
        self.objects[VOLUME] = persistent(iscsi=SOURCE)
        self.controller_attaches()
        self._set_disposables()

    def controller_attaches(self, *names: str, in_use: tuple[str, ...] = (NAME,)) -> None:
        assert self.objects is not None
        volumes = [{"name": name, "devicePath": ""} for name in names or (NAME,)]
        self.objects[NODE] = {"status": {"volumesInUse": in_use, "volumesAttached": volumes}}

    def restart(self) -> None:
        objects = self.objects
        ClaimingNode.__init__(self, self.root, self._monkeypatch)
        self.objects = objects
        self._set_disposables()

    def _set_disposables(self) -> None:
        for function in (ATTACH, DETACH, MOUNT, BIND, UNMOUNT, GROUP):
            self.harness.disposables[function] = self._call(function)

    def _call(self, function: str) -> Any:
        def call(**arguments: Any) -> Any:
            self.calls.append(function)
            if self.dies_at == function:
                raise DisposableError("Killed", "with its agent")
            return getattr(self, f"_{function.rpartition(':')[2]}")(**arguments)

        return call

    def _below(self, directory: str) -> list[str]:
        return [path for path in self.mounted if path.startswith(f"{directory}/")]

    def _attach(self, disk: dict[str, Any], **_: Any) -> list[str]:
        self.attached = sorted({*self.attached, disk["iqn"]})
        return ["/dev/null", ""]

    def _detach(self, disk: dict[str, Any], portals: list[str]) -> str:
        assert f"{self.root}/plugins/{PLACE}" not in self.mounted
        if portals:
            self.attached = [name for name in self.attached if name != disk["iqn"]]
        return ""

    def _mount_device(self, target: str, **_: Any) -> str:
        assert os.path.isfile(f"{target}/iscsi.json")
        self.mounted.append(target)
        return ""

    def _bind_volume(self, source: str, target: str, **_: Any) -> str:
        assert source in self.mounted
        if target not in self.mounted:
            self.mounted.append(target)
        return ""

    def _unmount_all(self, points: list[str], lazy: bool) -> None:
        self.mounted = [path for path in self.mounted if path not in points]

    def _apply_group(self, **_: Any) -> dict[str, Any]:
        return {"after": b"", "files": 1, "failed": 0, "errors": []}

    async def unmount(self, uid: str = UID) -> VolumesUnmounted | VolumesFailed:
        answer = await self.harness.deliver(UnmountVolumes(uid))
        await self.harness.settle()  # disks are detached after the answer
        assert isinstance(answer, VolumesUnmounted | VolumesFailed)
        return answer

    def in_use(self) -> list[str]:
        return self.harness.sent(VolumesInUse, HEARTBEAT_CLIENT)[-1].names

    def left(self) -> list[str]:
        """Files of disks and pods."""
        below = [f"{self.root}/pods", f"{self.root}/plugins"]
        return [f"{folder}/{name}" for top in below for folder, _, names in os.walk(top) for name in names]


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> DiskNode:
    return DiskNode(tmp_path, monkeypatch)


def place(node: DiskNode, uid: str = UID, name: str = "pv") -> str:
    return f"{node.root}/pods/{uid}/volumes/kubernetes.io~iscsi/{name}"


async def test_a_disk_is_attached_once_for_two_pods_and_detached_after_the_last(node: DiskNode) -> None:
    async with node.harness:
        for uid in ("one", "two"):
            answer = await node.mount(uid=uid, securityContext={"fsGroup": 7})
            assert answer == VolumesMounted(uid, {"v": place(node, uid)})
        assert node.calls == [*STEPS, BIND, GROUP]
        assert node.in_use() == [NAME]
        assert await node.unmount("one") == VolumesUnmounted("one")
        assert node.attached == [IQN]
        assert await node.unmount("two") == VolumesUnmounted("two")
        assert (node.attached, node.mounted, node.in_use(), node.left()) == ([], [], [], [])


async def test_a_volume_of_a_pod_itself_is_a_disk_too_and_may_be_read_only(node: DiskNode) -> None:
    async with node.harness:
        await node.mount({"iscsi": {**SOURCE, "readOnly": True}}, securityContext={"fsGroup": 7})
        assert node.calls == [ATTACH, MOUNT, BIND], "owners of what is read only stay"
        bind = next(arguments for function, arguments in node.harness.disposed if function == BIND)
        assert bind["options"] == ["ro"]
        assert bind["target"] == place(node, name="v")
        await node.unmount()


async def test_a_pod_waits_until_the_controller_has_attached_the_disk(node: DiskNode) -> None:
    node.controller_attaches("kubernetes.io/iscsi/other", in_use=())
    async with node.harness:
        answer = await node.mount()
        assert isinstance(answer, VolumesFailed)
        assert answer.unattached == ["v"]
        assert answer.pod_events == []
        assert node.in_use() == [NAME], "so that the controller does not detach it"
        node.controller_attaches("kubernetes.io/iscsi/other")
        answer = await node.mount()
        assert isinstance(answer, VolumesFailed)
        assert "Volume not attached according to node status" in answer.message
        assert node.calls == []
        node.controller_attaches()
        assert isinstance(await node.mount(), VolumesMounted)
        assert await node.unmount() == VolumesUnmounted(UID)


async def test_a_disk_that_is_mounted_asks_no_controller(node: DiskNode) -> None:
    async with node.harness:
        await node.mount(uid="one")
        node.controller_attaches("none")
        assert isinstance(await node.mount(uid="two"), VolumesMounted)
    assert node.objects is not None
    node.restart()
    node.objects = None
    async with node.harness:
        assert isinstance(await node.mount(uid="one"), VolumesMounted), "without the API server"


async def test_nobody_is_waited_for_where_the_node_attaches_its_volumes_itself(node: DiskNode) -> None:
    node.controller_attaches("none")
    config = KubeletConfiguration(enableControllerAttachDetach=False)
    agent = Agent(root_dir=str(node.root), run_dir=f"{node.root}/run", workers=2, standalone=False, config=config)
    node.harness.port.context = agent
    async with node.harness:
        assert isinstance(await node.mount(), VolumesMounted)
        await node.unmount()


@pytest.mark.parametrize("step", STEPS)
async def test_a_death_at_any_step_of_the_mount_neither_loses_nor_doubles_it(node: DiskNode, step: str) -> None:
    node.dies_at = step
    async with node.harness:
        assert isinstance(await node.mount(securityContext={"fsGroup": 7}), VolumesFailed)
    node.dies_at = ""
    node.restart()
    async with node.harness:
        assert isinstance(await node.mount(securityContext={"fsGroup": 7}), VolumesMounted)
        assert node.calls.count(GROUP) == 1 + (step == GROUP), "given to the group twice, or never"
        assert len(node.mounted) == 2
        await node.unmount()
        assert (node.attached, node.mounted, node.left()) == ([], [], [])


@pytest.mark.parametrize("step", STEPS)
async def test_a_pod_that_goes_after_a_death_at_any_step_leaves_nothing(node: DiskNode, step: str) -> None:
    node.dies_at = step
    async with node.harness:
        await node.mount(securityContext={"fsGroup": 7})
    node.dies_at = ""
    node.restart()
    async with node.harness:
        assert await node.unmount() == VolumesUnmounted(UID)
        assert (node.attached, node.mounted, node.left()) == ([], [], [])
        assert node.in_use() == []


@pytest.mark.parametrize("step", [UNMOUNT, DETACH])
async def test_a_death_at_any_step_of_the_unmount_is_made_good_by_the_next_incarnation(
    node: DiskNode, step: str
) -> None:
    async with node.harness:
        await node.mount()
        node.dies_at = step
        answer = await node.unmount()
        assert isinstance(answer, VolumesFailed if step == UNMOUNT else VolumesUnmounted)
        assert node.in_use() == [NAME]
    node.dies_at = ""
    node.restart()
    async with node.harness:
        await node.harness.settle()
        await node.unmount()
        assert (node.attached, node.mounted, node.left()) == ([], [], [])


async def test_a_disk_that_cannot_be_detached_is_tried_again_and_reported_meanwhile(node: DiskNode) -> None:
    async with node.harness:
        await node.mount()
        node.harness.disposables[DETACH] = lambda **_: "/dev/sda is still in use"
        assert await node.unmount() == VolumesUnmounted(UID), "the pod does not wait"
        assert node.in_use() == [NAME]
        node.harness.disposables[DETACH] = node._detach
        await node.harness.advance(RETRY_SECONDS + 1)
        assert node.in_use() == []
        assert node.left() == []


async def test_a_session_is_kept_for_another_disk_of_the_same_target(node: DiskNode) -> None:
    other = f"kubernetes.io/iscsi/10.0.0.1:{IQN}:3"
    node.controller_attaches(NAME, other, in_use=(NAME, other))
    async with node.harness:
        await node.mount(uid="one")
        await node.mount({"iscsi": {**SOURCE, "lun": 3}}, uid="two")
        await node.unmount("one")
        assert node.attached == [IQN]
        await node.unmount("two")
        assert node.attached == []
        portals = [arguments["portals"] for function, arguments in node.harness.disposed if function == DETACH]
        assert portals == [[], ["10.0.0.1:3260"]]


async def test_a_disk_may_be_a_device_of_the_containers(node: DiskNode) -> None:
    assert node.objects is not None
    node.objects[VOLUME] = persistent(iscsi=SOURCE, volumeMode="Block")
    device: dict[str, Any] = {"containers": [{"name": "c", "volumeDevices": [{"name": "v", "devicePath": "/dev/x"}]}]}
    link = f"{node.root}/pods/{UID}/volumeDevices/kubernetes.io~iscsi/pv"
    async with node.harness:
        assert await node.mount(**device) == VolumesMounted(UID, {"v": link})
        assert os.readlink(link) == "/dev/null"
        assert node.calls == [ATTACH]
    node.restart()
    node.controller_attaches("none")
    node.harness.disposables[ATTACH] = lambda **_: ["/dev/zero", ""]
    async with node.harness:
        await node.mount(**device)
        assert os.readlink(link) == "/dev/zero", "another name after a boot"
        assert await node.unmount() == VolumesUnmounted(UID)
        assert (node.attached, node.left()) == ([], [])


async def test_the_secret_of_chap_is_read_from_its_namespace(node: DiskNode) -> None:
    assert node.objects is not None
    ref = {"name": "s", "namespace": "storage"}
    node.objects[VOLUME] = persistent(iscsi={**SOURCE, "chapAuthSession": True, "secretRef": ref})
    async with node.harness:
        answer = await node.mount()
        assert isinstance(answer, VolumesFailed)
        assert (
            'MountVolume.WaitForAttach failed for volume "pv" : couldn\'t get secret storage/s error' in answer.message
        )
        node.objects["/api/v1/namespaces/storage/secrets/s"] = {"data": {"node.session.auth.password": "c2VjcmV0"}}
        assert isinstance(await node.mount(), VolumesMounted)
        attach = next(arguments for function, arguments in node.harness.disposed if function == ATTACH)
        assert attach["chap"] == {"session": {"node.session.auth.password": "secret"}}
        assert not any("secret" in Path(path).read_text() for path in node.left() if path.endswith((".json", "/pv"))
                       and "persistent_volumes" not in path)  # fmt: skip
        await node.unmount()


async def test_what_cannot_be_attached_or_mounted_is_an_event_with_the_operation(node: DiskNode) -> None:
    async with node.harness:
        node.harness.disposables[ATTACH] = lambda **_: ["", "no path"]
        answer = await node.mount()
        assert isinstance(answer, VolumesFailed)
        assert answer.message == 'MountVolume.WaitForAttach failed for volume "pv" : no path'
        node.harness.disposables[ATTACH] = node._attach
        node.harness.disposables[MOUNT] = lambda **_: "no mkfs"
        answer = await node.mount()
        assert isinstance(answer, VolumesFailed)
        assert answer.message == 'MountVolume.MountDevice failed for volume "pv" : no mkfs'
        await node.unmount()
        assert (node.attached, node.left()) == ([], [])


async def test_a_static_pod_has_a_disk_without_an_api_server(node: DiskNode) -> None:
    agent = Agent(root_dir=str(node.root), run_dir=f"{node.root}/run", workers=2)
    node.harness = Harness(VolumeManager, name="volume_manager", context=agent)
    node._set_disposables()
    async with node.harness:
        answer = await node.harness.deliver(MountVolumes(UID, pod({"name": "v", "iscsi": SOURCE})))
        assert answer == VolumesMounted(UID, {"v": place(node, name="v")})
        assert await node.unmount() == VolumesUnmounted(UID)
        assert (node.attached, node.mounted, node.left()) == ([], [], [])
        assert node.harness.sent(VolumesInUse) == []


async def test_a_disk_of_fibre_channel_is_one_too(node: DiskNode, monkeypatch: pytest.MonkeyPatch) -> None:
    source, name = {"targetWWNs": ["50060e80", "50060e81"], "lun": 0}, "kubernetes.io/fc/[50060e80 50060e81]:0"
    node.controller_attaches(name, in_use=(name,))
    node.harness.disposables[f"{HOST}.fc_disks:attach"] = lambda disk: ["/dev/sdx", ""]
    node.harness.disposables[f"{HOST}.fc_disks:detach"] = lambda disk: ""
    mounts: list[dict[str, Any]] = []

    def mount(**arguments: Any) -> str:
        mounts.append(arguments)
        node.mounted.append(arguments["target"])
        return ""

    node.harness.disposables[MOUNT] = mount
    async with node.harness:
        answer = await node.mount({"fc": {**source, "fsType": "xfs"}})
        assert answer == VolumesMounted(UID, {"v": f"{node.root}/pods/{UID}/volumes/kubernetes.io~fc/v"})
        assert [(one["device"], one["kind"]) for one in mounts] == [("/dev/sdx", "xfs")]
        assert mounts[0]["target"] == f"{node.root}/plugins/kubernetes.io/fc/50060e80-50060e81-lun-0"
        assert node.in_use() == [name]
        assert await node.unmount() == VolumesUnmounted(UID)
        assert (node.mounted, node.left(), node.in_use()) == ([], [], [])


async def test_disks_stay_while_their_users_cannot_be_seen(node: DiskNode, monkeypatch: pytest.MonkeyPatch) -> None:
    async with node.harness:
        await node.mount(uid="one")
        await node.mount(uid="two")
        strange = Path(node.root, "pods/three")
        strange.symlink_to(strange)
        await node.unmount("one")
        await node.unmount("two")
        assert node.attached == [IQN]
        strange.unlink()
        await node.harness.advance(RETRY_SECONDS + 1)
        assert node.attached == []


@pytest.mark.parametrize("block", [False, True])
async def test_what_a_kubelet_has_attached_for_a_pod_is_detached_after_it(node: DiskNode, block: bool) -> None:
    known = DiskRecords(f"{node.root}/plugins")
    disk = IscsiDisk(volume="pv", portals=["10.0.0.1:3260"], iqn=IQN, lun=2, block=block)
    known.note_for_kubelets(disk)
    node.attached = [IQN]
    if block:
        link = Path(node.root, "pods", UID, "volumeDevices/kubernetes.io~iscsi/pv")
        link.parent.mkdir(parents=True)
        link.symlink_to("/dev/null")
        mapped = Path(known.directory(disk), UID)
        mapped.touch()
        node.harness.disposables[f"{HOST}.mapped_devices:unmap"] = lambda paths: mapped.unlink()
    else:
        os.makedirs(place(node))
        node.mounted = [f"{node.root}/plugins/{PLACE}", place(node)]
        same = mountinfo.Mount(1, 1, "8:0", "/", place(node), (), (), "ext4", "/dev/sda", ())
        monkey = node._monkeypatch
        monkey.setattr(mountinfo, "at", lambda point: [same] if point in node.mounted else [])
        monkey.setattr(mountinfo, "read_below", lambda top: [same] if node._below(top) else [])
    async with node.harness:
        await node.harness.settle()
        assert node.attached == [IQN], "while the pod runs"
        assert await node.unmount() == VolumesUnmounted(UID)
        assert (node.attached, node.mounted, node.left()) == ([], [], [])
