"""Volumes of storage drivers: names and paths, what drivers are told, what the cluster is told of them."""

import json
import os
from pathlib import Path

import msgspec
import pytest

from actors.shared.kube.codec import decode, decode_pod, encode
from actors.shared.kube.persistent_volumes import PersistentVolume
from actors.volume_manager.csi import access, csi_node, pod_info, progress, record_file, records
from actors.volume_manager.csi.api_objects import DriverSpec, TokenRequest
from actors.volume_manager.csi.errors import CsiError
from actors.volume_manager.csi.model import (
    CsiMount,
    CsiVolume,
    Driver,
    VolumeRecord,
    attachment_name,
    device_paths,
    inline_handle,
    stage_dir,
    unique_name,
)
from actors.volume_manager.csi.records import Records
from actors.volume_manager.files.projections import PodTokenRequest
from actors.volume_manager.persistent_volumes.volume_claims import claimed_volume
from actors.volume_manager.types.base import PendingVolume, PodContext, RejectedVolume
from actors.volume_manager.types.csi import CsiMounter
from actors.volume_manager.types.registry import plan
from proto import csi_pb2 as csi
from tests.support.present import present
from tests.support.volumes import user_of

MODE = csi.VolumeCapability.AccessMode
DRIVER = Driver(name="d.test", endpoint="/s", node_id="n1", max_volumes=3, topology={"zone": "z"}, stages=True)


def pod(*volumes, **security):
    meta = {"name": "p", "namespace": "ns", "uid": "u"}
    body = {
        "metadata": meta,
        "spec": {"volumes": list(volumes), "containers": [user_of(volumes)], "securityContext": security},
    }
    return decode_pod(encode(body))


def mount(group=None, read_only=False, **source):
    made = CsiVolume(**{"name": "pv", "driver": "d.test", "handle": "h", **source})
    return CsiMount(volume="v", path="/p/mount", source=made, group=group, read_only=read_only)


def device_step(root, uid="u"):
    paths = device_paths(f"{root}/plugins", f"{root}/pods/{uid}", "pv")
    source = CsiVolume(name="pv", driver="d.test", handle="h", block=True)
    return CsiMount(volume="v", path=paths.target, device=paths, source=source)


# -- names ------------------------------------------------------------------------------------------------------------
def test_names_and_paths_are_those_that_controllers_and_drivers_compute():
    assert attachment_name("vol", "d.test", "node") == (
        "csi-acb3fd93901452cf5751ced291b189677c078c8428169823ecc61b8d85f0c96f"
    )
    assert stage_dir("/plugins", "d.test", "vol") == (
        "/plugins/kubernetes.io/csi/d.test/b9f6da279ec59af95d121d1e1e502ecf056504e267f2f7dfc747ebd0f3f74298"
    )
    assert unique_name("d.test", "vol") == "kubernetes.io/csi/d.test^vol"


def planned(given, claims=None):
    return plan(PodContext(pod=given, pod_dir="/pods/u", plugins_dir="/plugins"), claims, joined=True)


def claimed(given, source, name="pv-1", **spec):
    volume = decode(encode({"metadata": {"name": name}, "spec": {"csi": source, **spec}}), PersistentVolume)
    return planned(given, {"v": claimed_volume(given, given.spec.volumes[0], volume)})


@pytest.mark.parametrize("name", ["../pv", "a/b", "", ".."])
def test_a_persistent_volume_whose_name_is_no_name_of_a_directory_is_not_mounted(name):
    given = pod({"name": "v", "persistentVolumeClaim": {"claimName": "c"}})
    (pending,) = claimed(given, {"driver": "d.test", "volumeHandle": "h"}, name=name)
    assert isinstance(pending, PendingVolume)
    assert f"PV {name!r}: not a name" in pending.message


# -- mounters ---------------------------------------------------------------------------------------------------------
def test_a_claim_on_a_drivers_volume_is_published_below_the_pod():
    given = pod({"name": "v", "persistentVolumeClaim": {"claimName": "c", "readOnly": True}}, fsGroup=5)
    (mounter,) = claimed(given, {"driver": "d.test", "volumeHandle": "h"})
    path = "/pods/u/volumes/kubernetes.io~csi/pv-1/mount"
    source = CsiVolume(name="pv-1", driver="d.test", handle="h")
    mount = CsiMount(volume="v", path=path, source=source, group=5, read_only=True, claim="c")
    assert mounter == CsiMounter(volume="v", path=path, persistent="pv-1", mount=mount)


def test_read_only_of_the_volume_is_for_the_attach_controller():
    given = pod({"name": "v", "persistentVolumeClaim": {"claimName": "c"}})
    (mounter,) = claimed(given, {"driver": "d.test", "volumeHandle": "h", "readOnly": True})
    assert isinstance(mounter, CsiMounter)
    assert not mounter.mount.read_only


def test_a_claim_on_a_drivers_device_is_published_where_the_kubelet_does():
    volume = {"name": "v", "persistentVolumeClaim": {"claimName": "c"}}
    body = {"name": "c", "volumeDevices": [{"name": "v", "devicePath": "/dev/x"}]}
    meta = {"name": "p", "namespace": "ns", "uid": "u"}
    given = decode_pod(encode({"metadata": meta, "spec": {"volumes": [volume], "containers": [body]}}))
    (mounter,) = claimed(given, {"driver": "d.test", "volumeHandle": "h"}, volumeMode="Block")
    assert isinstance(mounter, CsiMounter)
    assert mounter.path == "/pods/u/volumeDevices/kubernetes.io~csi/pv-1"
    assert mounter.mount.path == "/plugins/kubernetes.io/csi/volumeDevices/publish/pv-1/u"
    assert present(mounter.mount.device).staging == "/plugins/kubernetes.io/csi/volumeDevices/staging/pv-1"
    (taken,) = claimed(given, {"driver": "d.test", "volumeHandle": "h"}, "publish", volumeMode="Block")
    assert isinstance(taken, PendingVolume)


@pytest.mark.parametrize("source", [{"driver": "../x", "volumeHandle": "h"}, {"driver": "d", "volumeHandle": ""}])
def test_a_claim_on_a_volume_without_a_driver_is_not_mounted(source):
    (found,) = claimed(pod({"name": "v", "persistentVolumeClaim": {"claimName": "c"}}), source)
    assert isinstance(found, PendingVolume)
    assert found.message.startswith("error processing PVC ns/c: PV 'pv-1': ")


def test_a_pods_own_volume_has_a_handle_of_its_own_and_its_secret_is_in_the_pods_namespace():
    own = {"driver": "d.test", "fsType": "xfs", "nodePublishSecretRef": {"name": "s"}, "volumeAttributes": {"a": "b"}}
    (mounter,) = planned(pod({"name": "v", "csi": own}))
    assert isinstance(mounter, CsiMounter)
    step = mounter.mount
    assert (step.source.handle, step.source.ephemeral, step.source.fs_type) == (inline_handle("u", "v"), True, "xfs")
    secret = present(step.source.publish_secret)
    assert (secret.namespace, secret.name) == ("ns", "s")
    assert step.path == "/pods/u/volumes/kubernetes.io~csi/v/mount"


@pytest.mark.parametrize("name", ["../x", "a/b", "", "."])
def test_a_wrong_driver_name_is_refused(name):
    (step,) = planned(pod({"name": "v", "csi": {"driver": name}}))
    assert isinstance(step, RejectedVolume)


# -- what drivers are told --------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("modes", "many", "expected"),
    [
        (["ReadWriteOnce"], False, MODE.SINGLE_NODE_WRITER),
        (["ReadWriteOnce"], True, MODE.SINGLE_NODE_MULTI_WRITER),
        (["ReadWriteOncePod"], False, MODE.SINGLE_NODE_WRITER),
        (["ReadWriteOncePod"], True, MODE.SINGLE_NODE_SINGLE_WRITER),
        (["ReadOnlyMany"], False, MODE.MULTI_NODE_READER_ONLY),
        (["ReadOnlyMany", "ReadWriteOnce"], False, MODE.MULTI_NODE_READER_ONLY),
        (["ReadWriteOnce", "ReadWriteMany"], True, MODE.SINGLE_NODE_MULTI_WRITER),
        (["ReadWriteMany"], True, MODE.MULTI_NODE_MULTI_WRITER),
        ([], False, MODE.SINGLE_NODE_WRITER),
    ],
)
def test_the_first_of_the_access_modes_counts(modes, many, expected):
    driver = Driver(name="d", endpoint="", node_id="n", many_writers=many)
    assert access.access_mode(driver, modes) == expected


def test_an_unknown_access_mode_is_an_error():
    with pytest.raises(CsiError, match="unsupported access mode 'Some'"):
        access.access_mode(DRIVER, ["Some"])


def test_a_driver_gets_a_block_capability_without_a_group():
    emitted_reasons = access.capability(DRIVER, device_step("/r"))
    assert (emitted_reasons.WhichOneof("access_type"), emitted_reasons.access_mode.mode) == (
        "block",
        MODE.SINGLE_NODE_WRITER,
    )
    step = msgspec.structs.replace(device_step("/r"), group=7)
    assert pod_info.fs_group_to_apply(DRIVER, DriverSpec(fsGroupPolicy="File"), step) is None


def test_a_driver_that_supports_groups_gets_the_pods_group():
    step = mount(group=7, fs_type="ext4", mount_options=["noatime"])
    emitted_reasons = access.capability(Driver(name="d", endpoint="", node_id="n", groups=True), step).mount
    assert (emitted_reasons.fs_type, list(emitted_reasons.mount_flags), emitted_reasons.volume_mount_group) == (
        "ext4",
        ["noatime"],
        "7",
    )
    assert access.capability(DRIVER, step).mount.volume_mount_group == ""


@pytest.mark.parametrize(
    ("policy", "step", "group"),
    [
        ("File", mount(group=7), 7),
        ("None", mount(group=7, fs_type="ext4", access_modes=["ReadWriteOnce"]), None),
        ("ReadWriteOnceWithFSType", mount(group=7, fs_type="ext4", access_modes=["ReadWriteOnce"]), 7),
        ("ReadWriteOnceWithFSType", mount(group=7, access_modes=["ReadWriteOnce"]), None),
        ("ReadWriteOnceWithFSType", mount(group=7, fs_type="ext4", ephemeral=True), 7),
        ("ReadWriteOnceWithFSType", mount(group=7, ephemeral=True), None),
        ("ReadWriteOnceWithFSType", mount(group=7, fs_type="ext4", access_modes=["ReadWriteMany"]), None),
        ("File", mount(group=7, read_only=True), None),
        ("File", mount(), None),
    ],
)
def test_the_drivers_policy_decides_whether_the_agent_changes_the_group_of_files(policy, step, group):
    assert pod_info.fs_group_to_apply(DRIVER, DriverSpec(fsGroupPolicy=policy), step) == group
    if group is not None:
        able = Driver(name="d", endpoint="", node_id="n", groups=True)
        assert pod_info.fs_group_to_apply(able, DriverSpec(fsGroupPolicy=policy), step) is None


def test_tokens_are_reported_with_their_ends_by_audience():
    spec = DriverSpec(tokenRequests=(TokenRequest(audience="a", expirationSeconds=700), TokenRequest()))
    wanted = pod_info.token_requests(pod(), spec)
    assert wanted == [
        PodTokenRequest("ns", "default", "a", 700, "p", "u"), PodTokenRequest("ns", "default", "", 3600, "p", "u")
    ]  # fmt: skip
    assert json.loads(pod_info.tokens_json(wanted, [("t1", 0.0), ("t2", 60.0)])) == {
        "a": {"token": "t1", "expirationTimestamp": "1970-01-01T00:00:00Z"},
        "": {"token": "t2", "expirationTimestamp": "1970-01-01T00:01:00Z"},
    }


# -- what the cluster is told -----------------------------------------------------------------------------------------
def test_a_driver_has_one_entry_in_the_csi_node():
    node = csi_node.with_driver(csi_node.new_csi_node("n", "uid"), DRIVER)
    entry = {"name": "d.test", "nodeID": "n1", "topologyKeys": ["zone"], "allocatable": {"count": 3}}
    assert node["spec"]["drivers"] == [entry]
    assert csi_node.with_driver(node, DRIVER) == node
    other = Driver(name="o", endpoint="", node_id="n2")
    both = csi_node.with_driver(node, other)
    assert [one["name"] for one in both["spec"]["drivers"]] == ["d.test", "o"]
    assert csi_node.with_driver(both, DRIVER) == both, "an entry that is as it should be keeps its place"
    assert csi_node.without_driver(both, "d.test")["spec"]["drivers"] == [
        {"name": "o", "nodeID": "n2", "topologyKeys": []}
    ]


def test_a_volume_count_over_the_maximum_of_the_api_is_the_maximum():
    many = Driver(name="d.test", endpoint="/s", node_id="n1", max_volumes=1 << 40)
    (entry,) = csi_node.with_driver(csi_node.new_csi_node("n", "uid"), many)["spec"]["drivers"]
    assert entry["allocatable"] == {"count": (1 << 31) - 1}


def test_the_node_has_the_id_and_topology_of_the_driver():
    patch = csi_node.node_patch({"metadata": {"labels": {"other": "o"}}}, DRIVER)
    assert patch == {"metadata": {"labels": {"zone": "z"}, "annotations": {csi_node.NODE_IDS: '{"d.test":"n1"}'}}}
    after = {"metadata": {"labels": {"zone": "z"}, "annotations": {csi_node.NODE_IDS: '{"d.test":"n1"}'}}}
    assert csi_node.node_patch(after, DRIVER) == {}
    assert csi_node.node_patch_without(after, "d.test") == {"metadata": {"annotations": {csi_node.NODE_IDS: None}}}
    assert csi_node.node_patch_without(after, "other") == {}
    assert csi_node.node_ids({"metadata": {"annotations": {csi_node.NODE_IDS: "nonsense"}}}) == {}


def test_a_label_of_the_node_that_names_another_place_is_a_collision():
    assert csi_node.collision({"metadata": {"labels": {"zone": "old", "o": "p"}}}, DRIVER) == (
        'detected topology value collision: driver reported "zone":"z" but existing label is "zone":"old"'
    )
    assert csi_node.collision({"metadata": {"labels": {"zone": "z"}}}, DRIVER) == ""
    assert csi_node.collision({"metadata": {}}, DRIVER) == ""


# -- what is on disk --------------------------------------------------------------------------------------------------
def test_the_records_of_volumes_name_their_pods(tmp_path):
    kept = Records(f"{tmp_path}/pods", f"{tmp_path}/plugins")
    record = VolumeRecord(driverName="d.test", volumeHandle="h", attachmentID="csi-x")
    folder = f"{tmp_path}/pods/u/volumes/kubernetes.io~csi/pv"
    assert not kept.used(record)
    record_file.write(folder, record)
    (published,) = kept.of_pod(f"{tmp_path}/pods/u")
    assert (published.folder, published.target, published.record) == (folder, f"{folder}/mount", record)
    assert kept.used(record)
    assert kept.in_use() == ["kubernetes.io/csi/d.test^h"]
    assert not kept.used(VolumeRecord(driverName="d.test", volumeHandle="other"))
    staged = kept.stage_of(record, None)
    assert staged.folder == stage_dir(f"{tmp_path}/plugins", "d.test", "h")
    record_file.write(staged.folder, record)
    assert kept.staged() == [staged]
    os.mkdir(f"{folder}/mount")
    records.remove_published(published)
    assert not os.path.exists(folder)
    assert kept.in_use() == ["kubernetes.io/csi/d.test^h"]
    records.remove_staged(staged)
    assert kept.in_use() == []
    assert not records.mounted(f"{folder}/mount")


def test_a_device_has_one_record_for_all_its_pods_as_with_the_kubelet(tmp_path):
    kept = Records(f"{tmp_path}/pods", f"{tmp_path}/plugins")
    top = f"{tmp_path}/plugins/kubernetes.io/csi/volumeDevices"
    record = VolumeRecord(driverName="d.test", volumeHandle="h", attachmentID="csi-x", state="none")
    for uid in ("u", "w"):
        progress.note(device_step(f"{tmp_path}", uid), record)
    assert os.readlink(f"{tmp_path}/pods/u/volumeDevices/kubernetes.io~csi/pv") == f"{top}/publish/pv/u"
    assert os.listdir(f"{top}/pv") == ["data"]
    (published,) = kept.of_pod(f"{tmp_path}/pods/u")
    assert (published.target, published.record) == (f"{top}/publish/pv/u", record)
    staged = kept.stage_of(record, published.device)
    assert (staged.target, kept.staged()) == (f"{top}/staging/pv", [staged])
    records.remove_published(published)
    assert kept.of_pod(f"{tmp_path}/pods/u") == []
    assert kept.used(record)
    records.remove_published(kept.of_pod(f"{tmp_path}/pods/w")[0])
    assert not kept.used(record)
    assert kept.in_use() == ["kubernetes.io/csi/d.test^h"]
    records.remove_staged(staged)
    assert (kept.staged(), os.path.exists(f"{top}/pv")) == ([], False)


def test_a_device_that_a_kubelet_published_before_it_made_the_link_is_found(tmp_path):
    paths = device_paths(f"{tmp_path}/plugins", f"{tmp_path}/pods/u", "pv")
    record = VolumeRecord(driverName="d.test", volumeHandle="h")
    record_file.write(paths.record, record)
    os.makedirs(os.path.dirname(paths.target))
    Path(paths.target).touch()
    (found,) = Records(f"{tmp_path}/pods", f"{tmp_path}/plugins").of_pod(f"{tmp_path}/pods/u")
    assert (found.record, found.device) == (record, paths)
