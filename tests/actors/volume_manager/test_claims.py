"""PersistentVolumeClaims: what they stand for on this node, who may use them, and what happens without a server."""

from __future__ import annotations

import errno
import json
import os
import stat
from pathlib import Path
from typing import Any

import msgspec
import pytest

from actors.api_clients.event_client.messages import RecordEvent
from actors.api_clients.kube_client.messages import GetObject, ObjectState
from actors.volume_manager.host import host_path, local_volumes, ownership
from actors.volume_manager.messages import (
    UnmountVolumes,
    VolumesFailed,
    VolumesMounted,
    VolumesUnmounted,
)
from actors.volume_manager.persistent_volumes import first_mount, lookup
from supervision import state_file
from tests.actors.volume_manager.claiming_node import BOUND, CLAIM, UID, VOLUME, ClaimingNode, persistent


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ClaimingNode:
    monkeypatch.setattr(local_volumes, "bind_volume", _link)
    monkeypatch.setattr(ownership, "apply_group", _apply_behind_link)
    found = ClaimingNode(tmp_path / "root", monkeypatch)
    (tmp_path / "disk").mkdir()
    assert found.objects is not None
    found.objects[VOLUME] = persistent(local={"path": str(tmp_path / "disk")})
    return found


def _link(source: str, target: str, options: list[str], seconds: float) -> str:
    """A link in place of a mount, which needs root."""
    if not os.path.islink(target):
        os.rmdir(target)
        os.symlink(source, target)
    return ""


_apply_group = ownership.apply_group


def _apply_behind_link(path: str, *arguments: Any, **named: Any) -> dict[str, Any]:
    """A mount is no link, which the real one does not follow."""
    return _apply_group(os.path.realpath(path), *arguments, **named)


def bound(node: ClaimingNode, uid: str = UID) -> dict[str, str]:
    """The path of the local volume, by volume."""
    return {"v": f"{node.root}/pods/{uid}/volumes/kubernetes.io~local-volume/pv"}


async def test_a_claim_is_mounted_as_the_directory_of_its_local_volume(node: ClaimingNode, tmp_path: Path) -> None:
    async with node.harness:
        assert await node.mount() == VolumesMounted(UID, bound(node))


async def test_a_claim_that_the_server_does_not_connect_with_the_node_yet_is_no_failure(
    node: ClaimingNode, tmp_path: Path
) -> None:
    node.refusals = 2
    async with node.harness:
        assert await node.mount() == VolumesMounted(UID, bound(node))
        node.refusals = 3
        answer = await node.mount(uid="0a1c")
        assert isinstance(answer, VolumesFailed)
        assert "no relationship found" in answer.message


async def test_a_claim_is_mounted_as_a_host_path_that_is_created_if_allowed(node: ClaimingNode, tmp_path: Path) -> None:
    assert node.objects is not None
    path = str(tmp_path / "made")
    node.objects[VOLUME] = persistent(hostPath={"path": path, "type": "DirectoryOrCreate"})
    async with node.harness:
        assert await node.mount() == VolumesMounted(UID, {"v": path})
    assert os.path.isdir(path)


async def test_the_files_of_a_local_volume_are_given_to_the_pods_group(node: ClaimingNode, tmp_path: Path) -> None:
    (tmp_path / "disk/file").write_text("")
    async with node.harness:
        await node.mount(securityContext={"fsGroup": os.getgid()})
    assert (tmp_path / "disk/file").stat().st_mode & 0o7777 == 0o664
    assert (tmp_path / "disk").stat().st_mode & 0o2770 == 0o2770


async def test_a_read_only_volume_keeps_its_owner(node: ClaimingNode, tmp_path: Path) -> None:
    claim = {"persistentVolumeClaim": {"claimName": "disk", "readOnly": True}}
    async with node.harness:
        await node.mount(claim, securityContext={"fsGroup": os.getgid()})
    assert (tmp_path / "disk").stat().st_mode & 0o2070 != 0o2070


async def test_a_claim_on_nfs_is_mounted_with_the_options_of_its_volume_by_the_mounter_that_was_named(
    node: ClaimingNode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert node.objects is not None
    node.objects[VOLUME] = persistent(nfs={"server": "s", "path": "/x"}, mountOptions=["nfsvers=4.1", "soft"])
    mounter, said = tmp_path / "mounter", tmp_path / "said"
    mounter.write_text(f'#!/bin/sh\necho "$@" >>{said}\n')
    mounter.chmod(0o755)
    flags = {"experimental-mounter-path": str(mounter)}
    node.harness.port.context = msgspec.structs.replace(node.harness.port.context, flags=flags)
    at = f"{node.root}/pods/{UID}/volumes/kubernetes.io~nfs/pv"
    async with node.harness:
        claim = {"persistentVolumeClaim": {"claimName": "disk", "readOnly": True}}
        assert await node.mount(claim) == VolumesMounted(UID, {"v": at})
        assert said.read_text() == f"mount -t nfs -o nfsvers=4.1,ro,soft s:/x {at}\n"
        node.objects[VOLUME]["metadata"]["annotations"] = {"volume.beta.kubernetes.io/mount-options": "soft,noatime"}
        assert await node.mount(claim) == VolumesMounted(UID, {"v": at})
        assert said.read_text().splitlines()[1] == f"mount -t nfs -o noatime,ro,soft s:/x {at}"
        mounter.write_text("#!/bin/sh\necho no such server >&2\nexit 32\n")
        answer = await node.mount(claim)
    assert isinstance(answer, VolumesFailed)
    assert answer.message.endswith("\nOutput: no such server")
    assert not os.path.exists(at)


@pytest.mark.parametrize(
    ("claim", "volume", "text"),
    [
        (None, {}, 'failed to fetch PVC from API server: persistentvolumeclaims "disk" not found'),
        ({"status": {"phase": "Pending"}}, {}, "error processing PVC ns/disk: PVC is not bound"),
        ({"spec": {"volumeName": ""}}, {}, "error processing PVC ns/disk: PVC has empty pvc.Spec.VolumeName"),
        (
            {"metadata": {**BOUND["metadata"], "deletionTimestamp": "2026-01-01T00:00:00Z"}},
            {},
            "error processing PVC ns/disk: PVC is being deleted",
        ),
        (
            {},
            {"local": {"path": "/dev/x"}, "volumeMode": "Block"},
            "failed to process volumes=[v]: volume v has volumeMode Block, but is specified in volumeMounts",
        ),
        ({"spec": {"volumeName": "none"}}, {}, 'fetch PV none from API server: persistentvolumes "none" not found'),
        (
            {},
            {"claimRef": {"uid": "other"}, "local": {"path": "/"}},
            "ClaimRef.UID other does not point to claim.UID c1",
        ),
        (
            {},
            {"claimRef": None, "local": {"path": "/"}},
            "found PV object pv but it has a nil pv.Spec.ClaimRef indicating it is not yet bound to the claim",
        ),
        ({}, {"cephfs": {}}, "PV pv: its source is not supported by this agent"),
        ({}, {"iscsi": {}}, "PV pv: iscsi: targetPortal: required"),
        ({}, {"fc": {"wwids": ["x"], "fsType": "a/b"}}, "PV pv: fc: fsType 'a/b' is not the name of a file system"),
        ({}, {"csi": {"driver": "..", "volumeHandle": "h"}}, "driver '..' or volumeHandle is empty"),
        ({}, {"csi": {"driver": "d", "volumeHandle": "h"}}, "driver name d not found in the list of registered"),
        ({}, {"hostPath": {"path": "/a/../b"}}, "must be absolute and without '..'"),
        (
            {},
            {"hostPath": {"path": "/"}, "mountOptions": ["ro"]},
            'MountVolume.MountOptionSupport check failed for volume "pv" : mount options are not supported for this '
            "volume type",
        ),
        ({}, {"nfs": {"server": "", "path": "/"}}, "PV pv: nfs: '' is not the name or address of a server"),
        (
            {},
            {"local": {"path": "/not/there"}},
            'MountVolume.NewMounter initialization failed for volume "pv" : path "/not/there" does not exist',
        ),
        ({}, {"local": {"path": "/dev/null"}}, "only directory and block device are supported"),
        ({}, {"local": {"path": "/", "fsType": "../sh"}}, "fsType '../sh' is not the name of a file system"),
    ],
)
async def test_an_unusable_volume_is_reported_and_may_be_mounted_later(node: ClaimingNode, claim, volume, text) -> None:
    assert node.objects is not None
    node.objects.pop(CLAIM)
    if claim is not None:
        node.objects[CLAIM] = {**BOUND, **claim}
    if volume:
        node.objects[VOLUME] = persistent(**volume)
    async with node.harness:
        answer = await node.mount()
    assert isinstance(answer, VolumesFailed)
    assert text in answer.message
    assert [event.text for event in answer.pod_events] == [answer.message]


DEVICE: dict[str, Any] = {"containers": [{"name": "c", "volumeDevices": [{"name": "v", "devicePath": "/dev/x"}]}]}


@pytest.mark.parametrize(
    ("volume", "text"),
    [
        ({"local": {"path": "/"}}, "volume v has volumeMode Filesystem, but is specified in volumeDevices"),
        (
            {"local": {"path": "/dev/null"}, "volumeMode": "Block"},
            'MapVolume.MapBlockVolume failed for volume "pv" : hostPath type check failed: /dev/null is not a block',
        ),
        ({"nfs": {"server": "s", "path": "/"}, "volumeMode": "Block"}, "source nfs has no volumes of the mode Block"),
        (
            {"csi": {"driver": "d", "volumeHandle": "h"}, "volumeMode": "Block"},
            "driver name d not found in the list of registered",
        ),
    ],
)
async def test_a_volume_that_is_not_a_block_device_is_not_mapped(node: ClaimingNode, volume, text) -> None:
    assert node.objects is not None
    node.objects[VOLUME] = persistent(**volume)
    async with node.harness:
        answer = await node.mount(**DEVICE)
    assert isinstance(answer, VolumesFailed)
    assert text in answer.message


async def test_a_device_of_the_node_is_given_by_a_link_in_the_pods_directory(
    node: ClaimingNode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert node.objects is not None
    monkeypatch.setitem(host_path._CHECKS, "BlockDevice", (stat.S_ISCHR, "a device"))  # any machine has this one
    node.objects[VOLUME] = persistent(local={"path": "/dev/null"}, volumeMode="Block")
    link = f"{node.root}/pods/{UID}/volumeDevices/kubernetes.io~local-volume/pv"
    async with node.harness:
        assert await node.mount(**DEVICE) == VolumesMounted(UID, {"v": link})
        assert os.readlink(link) == "/dev/null"
        assert await node.harness.deliver(UnmountVolumes(UID)) == VolumesUnmounted(UID)
    assert not os.path.lexists(link)
    assert node.operations() == {f"{one} kubernetes.io/local-volume" for one in ("map_volume", "unmap_volume")}


async def test_a_claim_that_is_being_deleted_is_mounted_while_its_finalizer_protects_it(
    node: ClaimingNode, tmp_path: Path
) -> None:
    assert node.objects is not None
    deleted = {"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["kubernetes.io/pvc-protection"]}
    node.objects[CLAIM] = {**BOUND, "metadata": {**BOUND["metadata"], **deleted}}
    async with node.harness:
        assert await node.mount() == VolumesMounted(UID, bound(node))


async def test_a_claim_that_no_container_uses_is_not_resolved(node: ClaimingNode) -> None:
    node.objects = None
    async with node.harness:
        assert await node.mount(containers=[{"name": "c"}]) == VolumesMounted(UID, {})


async def test_a_claim_made_for_a_pod_serves_only_that_pod(node: ClaimingNode, tmp_path: Path) -> None:
    assert node.objects is not None
    template: dict[str, Any] = {"ephemeral": {"volumeClaimTemplate": {}}}
    made: dict[str, Any] = {**BOUND, "metadata": {"name": "p-v", "namespace": "ns", "uid": "c1"}}
    path = "/api/v1/namespaces/ns/persistentvolumeclaims/p-v"
    node.objects[path] = made
    async with node.harness:
        answer = await node.mount(template)
        assert isinstance(answer, VolumesFailed)
        assert "volumes=[v]: PVC ns/p-v was not created for pod ns/p (pod is not owner)" in answer.message
        made["metadata"]["ownerReferences"] = [{"kind": "Pod", "uid": UID, "controller": True}]
        assert await node.mount(template) == VolumesMounted(UID, bound(node))


async def test_a_known_claim_stays_valid_without_the_server_until_its_pod_is_gone(
    node: ClaimingNode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with node.harness:
        first = await node.mount()
    again = ClaimingNode(node.root, monkeypatch)
    again.objects = None
    async with again.harness:
        assert await again.mount() == first
        await again.harness.deliver(UnmountVolumes(UID))
        assert not os.path.exists(again.root / "pods" / UID)
        answer = await again.mount()
    assert isinstance(answer, VolumesFailed)
    assert "connection refused" in answer.message


LABELS = {"disk": "yes"}


@pytest.mark.parametrize(
    ("terms", "fits"),
    [
        ([{"matchExpressions": [{"key": "disk", "operator": "In", "values": ["yes"]}]}], True),
        ([{"matchExpressions": [{"key": "disk", "operator": "In", "values": ["no"]}]}], False),
        ([{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}], True),
        ([{"matchExpressions": [{"key": "disk", "operator": "DoesNotExist"}]}, {}], False),
    ],
)
async def test_a_volume_of_another_node_is_not_mounted_here(node: ClaimingNode, terms: list[Any], fits: bool) -> None:
    assert node.objects is not None
    node.objects[VOLUME]["spec"]["nodeAffinity"] = {"required": {"nodeSelectorTerms": terms}}
    node.harness.answer(
        GetObject, lambda ask: ObjectState(ask.ref, json.dumps({"metadata": {"labels": LABELS}}).encode())
    )
    async with node.harness:
        answer = await node.mount()
    assert isinstance(answer, VolumesMounted) is fits
    if isinstance(answer, VolumesFailed):
        text = 'MountVolume.NodeAffinity check failed for volume "pv" : no matching NodeSelectorTerms'
        assert [(one.reason, one.text) for one in answer.events or ()] == [("FailedMount", text)]


async def test_a_device_that_a_pod_cannot_have_is_reported_as_a_device(node: ClaimingNode) -> None:
    assert node.objects is not None
    spec = node.objects[VOLUME]["spec"]
    spec |= {"volumeMode": "Block", "nodeAffinity": {"required": {"nodeSelectorTerms": [{}]}}}
    node.harness.answer(GetObject, lambda ask: ObjectState(ask.ref, b"{}"))
    async with node.harness:
        answer = await node.mount()
    assert isinstance(answer, VolumesFailed)
    text = 'MapVolume.NodeAffinity check failed for volume "pv" : no matching NodeSelectorTerms'
    assert [(one.reason, one.text) for one in answer.events or ()] == [("FailedMount", text)]


async def test_a_mounted_volume_is_kept_when_the_labels_of_its_node_change(node: ClaimingNode) -> None:
    assert node.objects is not None
    terms = [{"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}]
    node.objects[VOLUME]["spec"]["nodeAffinity"] = {"required": {"nodeSelectorTerms": terms}}
    node.objects[VOLUME]["spec"]["accessModes"] = ["ReadWriteOncePod"]
    labels = {"zone": "a"}
    node.harness.answer(
        GetObject, lambda ask: ObjectState(ask.ref, json.dumps({"metadata": {"labels": labels}}).encode())
    )
    async with node.harness:
        assert isinstance(await node.mount(), VolumesMounted)
        labels["zone"] = "b"
        assert isinstance(await node.mount(), VolumesMounted), "it was checked before it was mounted"
        labels["zone"] = "a"
        assert isinstance(await node.mount(uid="other"), VolumesFailed), "the first pod still has it"


async def test_a_volume_for_one_pod_is_mounted_for_another_only_when_the_first_is_gone(node: ClaimingNode) -> None:
    assert node.objects is not None
    node.objects[VOLUME]["spec"]["accessModes"] = ["ReadWriteOncePod"]
    async with node.harness:
        assert isinstance(await node.mount(), VolumesMounted)
        assert isinstance(await node.mount(), VolumesMounted), "the same pod again"
        refused = await node.mount(uid="other")
        assert isinstance(refused, VolumesFailed)
        text = "volume uses the ReadWriteOncePod access mode and is already in use by another pod"
        assert [(one.reason, one.text) for one in refused.events or ()] == [
            ("FailedMount", f'MountVolume.SetUp failed for volume "pv" : {text}')
        ]
        await node.harness.deliver(UnmountVolumes(UID))
        assert isinstance(await node.mount(uid="other"), VolumesMounted)


async def test_a_volume_for_one_pod_waits_while_it_cannot_be_seen_who_has_it(
    node: ClaimingNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert node.objects is not None
    node.objects[VOLUME]["spec"]["accessModes"] = ["ReadWriteOncePod"]
    read = state_file.read_private

    def fails(path: str) -> bytes:
        if UID in path:
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE), path)
        return read(path)

    async with node.harness:
        assert isinstance(await node.mount(), VolumesMounted)
        monkeypatch.setattr(lookup, "read_private", fails)
        waits = await node.mount(uid="other")
        assert isinstance(waits, VolumesFailed)
        assert "Too many open files" in waits.message
        assert isinstance(await node.mount(), VolumesFailed), "it is tried again, and nothing is forgotten"
        monkeypatch.setattr(lookup, "read_private", read)
        refused = await node.mount(uid="other")
        assert isinstance(refused, VolumesFailed)
        assert "already in use by another pod" in refused.message


async def test_a_claim_waits_while_the_disk_is_full(node: ClaimingNode, monkeypatch: pytest.MonkeyPatch) -> None:
    write = state_file.write_private

    def fails(path: str, data: bytes, *, sync: bool) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)

    async with node.harness:
        monkeypatch.setattr(lookup, "write_private", fails)
        waits = await node.mount()
        assert isinstance(waits, VolumesFailed)
        assert "No space left on device" in waits.message
        monkeypatch.setattr(lookup, "write_private", write)
        assert isinstance(await node.mount(), VolumesMounted)


@pytest.mark.parametrize(("gid", "groups"), [("1234", [1234]), ("x", []), ("", [])])
async def test_the_group_that_a_volumes_annotation_names_is_one_of_the_pods_groups(
    node: ClaimingNode, tmp_path: Path, gid: str, groups: list[int]
) -> None:
    assert node.objects is not None
    node.objects[VOLUME]["metadata"]["annotations"] = {"pv.beta.kubernetes.io/gid": gid}
    async with node.harness:
        assert await node.mount() == VolumesMounted(UID, bound(node), groups)


async def test_owners_of_a_local_volume_are_changed_at_its_first_mount_on_the_node_only(
    node: ClaimingNode, tmp_path: Path
) -> None:
    file = tmp_path / "disk/file"
    file.touch()
    async with node.harness:
        await node.mount(securityContext={"fsGroup": os.getgid()})
        file.chmod(0o600)
        assert isinstance(await node.mount(securityContext={"fsGroup": os.getgid()}), VolumesMounted)
        assert file.stat().st_mode & 0o777 == 0o600
        await node.harness.deliver(UnmountVolumes(UID))
        await node.mount(securityContext={"fsGroup": os.getgid()})
        assert file.stat().st_mode & 0o777 == 0o660


async def test_owners_of_a_local_volume_stay_when_a_pod_without_a_group_had_it_first(
    node: ClaimingNode, tmp_path: Path
) -> None:
    file = tmp_path / "disk/file"
    file.touch(0o600)
    async with node.harness:
        await node.mount()
        await node.mount(uid="other", securityContext={"fsGroup": os.getgid()})
    assert file.stat().st_mode & 0o777 == 0o600


async def test_a_marker_that_cannot_be_written_is_an_error_of_the_volume(
    node: ClaimingNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(pod_dir: str, name: str) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(first_mount, "note_mounted", full)
    async with node.harness:
        answer = await node.mount()
    assert isinstance(answer, VolumesFailed)
    assert "No space left on device" in answer.message


async def test_a_local_volume_that_another_pod_has_with_another_group_is_an_event_once(node: ClaimingNode) -> None:
    def told() -> list[tuple[str, str, str]]:
        events = node.harness.sent(RecordEvent, "api_clients/event_client")
        return [(event.uid, event.reason, event.message) for event in events]

    own, other = os.getgid(), os.getgid() + 7
    async with node.harness:
        await node.mount(securityContext={"fsGroup": own})
        await node.mount(uid="same", securityContext={"fsGroup": own})
        assert told() == []
        for _ in range(2):
            assert isinstance(await node.mount(uid="other", securityContext={"fsGroup": other}), VolumesMounted)
        text = f"The requested fsGroup is {other}, but the volume pv has GID {own}. The volume may not be shareable."
        assert told() == [("other", "AlreadyMountedVolume", text)]


async def test_a_volume_with_many_files_is_changed_in_slices_and_that_is_an_event_of_the_pod(
    node: ClaimingNode,
) -> None:
    calls: list[bytes] = []

    def in_slices(**given: Any) -> dict[str, Any]:
        calls.append(given["after"])
        node.harness.clock.now += 12.0
        return {
            "after": b"d%d" % len(calls) if len(calls) < 10 else b"",
            "files": 1000,
            "failed": 1,
            "errors": ["d/x: no"],
        }

    node.harness.disposables["actors.volume_manager.host.ownership:apply_group"] = in_slices
    node.harness.actor._clock = lambda: node.harness.clock.now
    async with node.harness:
        answer = await node.mount(securityContext={"fsGroup": 7})
    assert isinstance(answer, VolumesMounted), "files that cannot be changed are no error"
    assert calls == [b"", *(b"d%d" % number for number in range(1, 10))]
    events = node.harness.sent(RecordEvent, "api_clients/event_client")
    assert [event.reason for event in events] == ["VolumePermissionChangeInProgress"] * 2
    advice, progress = (event.message for event in events)
    assert "/volumes/" in advice
    assert " is taking longer than expected, consider using OnRootMismatch - https://kubernetes.io/docs/" in advice
    assert progress.endswith(", processed 8000 files.")


async def test_a_claim_on_an_in_tree_volume_is_one_on_its_driver(node: ClaimingNode, tmp_path: Path) -> None:
    assert node.objects is not None
    node.objects[VOLUME] = persistent(awsElasticBlockStore={"volumeID": "aws://a/vol-1"})
    async with node.harness:
        answer = await node.mount()
        assert isinstance(answer, VolumesFailed)
        assert "driver name ebs.csi.aws.com not found in the list of registered CSI drivers" in answer.message
        assert node.operations() == {"volume_mount kubernetes.io/csi:ebs.csi.aws.com"}
        saved = json.loads((node.root / f"pods/{UID}/plugins/persistent_volumes.json").read_bytes())
        assert saved["v"]["spec"]["csi"]["volumeHandle"] == "vol-1"
        node.objects[VOLUME] = persistent(azureDisk={"diskURI": "u", "kind": "Shared"})
        answer = await node.mount()
    assert isinstance(answer, VolumesFailed)
    text = "error processing PVC ns/disk: failed to translate in-tree pv to CSI: kind(Shared) is not supported"
    assert text in answer.message
