"""Volumes of a storage driver (CSI): it registers, volumes are staged once and published to each pod, and undone."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from actors.shared.api.errors import AlreadyExists
from actors.volume_manager.csi.model import attachment_name, unique_name
from tests.node.joined.test_contents import BASE, run
from tests.node.joined.test_pod_features import events, gone, within
from tests.support.csi_driver import FakeDriver
from tests.support.joined import NODE, NODES, Joined, container, pod

SECONDS = 40.0
STORAGE = "/apis/storage.k8s.io/v1"
MODES = {"accessModes": ["ReadWriteOnce"]}
SIZE = {"storage": "1Gi"}


@pytest.fixture
def driver(site: Joined) -> Iterator[FakeDriver]:
    with FakeDriver(f"{site.node.home}/root").running() as found:
        found.wait_registered(seconds=SECONDS)
        yield found


def volume(site: Joined, name: str, *, mode: str = "Filesystem", **csi: Any) -> None:
    """A claim of that name, bound to a volume of the driver."""
    spec = {**MODES, "volumeMode": mode, "volumeName": f"pv-{name}", "resources": {"requests": SIZE}}
    claim = site.api.call("POST", f"{BASE}/persistentvolumeclaims", {"metadata": {"name": name}, "spec": spec})
    bound = {"kind": "PersistentVolumeClaim", "namespace": "default", "name": name, "uid": claim["metadata"]["uid"]}
    source = {"driver": "fake.csi.test", "volumeHandle": f"handle-{name}", **csi}
    options = {"mountOptions": ["noatime"]} if mode == "Filesystem" else {}
    made = {**MODES, "volumeMode": mode, "capacity": SIZE, "claimRef": bound, "csi": source, **options}
    site.api.call("POST", "/api/v1/persistentvolumes", {"metadata": {"name": f"pv-{name}"}, "spec": made})
    site.api.merge(f"{BASE}/persistentvolumeclaims/{name}/status", {"status": {"phase": "Bound"}})


def csi_driver(site: Joined, **spec: Any) -> None:
    path = f"{STORAGE}/csidrivers"
    if site.api.find(f"{path}/fake.csi.test") is not None:
        site.api.call("DELETE", f"{path}/fake.csi.test")
    site.api.call("POST", path, {"metadata": {"name": "fake.csi.test"}, "spec": spec})


def user(name: str, claim: str, **spec: Any) -> dict[str, Any]:
    mounts = [{"name": "v", "mountPath": "/v"}]
    volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": claim}}]
    return pod(name, container("main", volumeMounts=mounts), volumes=volumes, **spec)


def measured(site: Joined, name: str) -> dict[str, Any]:
    """What the summary says of the pod's volume; empty until the disks were measured."""
    said = json.loads(site.kubectl("get", "--raw", f"{NODES}/{NODE}/proxy/stats/summary"))
    volumes = [one for pod in said["pods"] if pod["podRef"]["name"] == name for one in pod.get("volume", [])]
    return next((one for one in volumes if one["name"] == "v"), {})


def left(site: Joined) -> list[str]:
    """Mounts of the driver below the agent's directories."""
    return [line for line in Path("/proc/mounts").read_text().splitlines() if f"{site.node.home}/root/p" in line
            and line.startswith("fake ")]  # fmt: skip


def test_a_driver_is_registered_in_the_cluster(site: Joined, driver: FakeDriver) -> None:
    found = site.api.call("GET", f"{STORAGE}/csinodes/{NODE}")
    keys = ["topology.fake.csi.test/zone"]
    entry = {"name": "fake.csi.test", "nodeID": "fake-node", "topologyKeys": keys, "allocatable": {"count": 7}}
    assert found["spec"]["drivers"] == [entry]
    assert len(driver.requests("GetInfo")) == 1
    node = site.api.call("GET", f"{NODES}/{NODE}")
    owner = found["metadata"]["ownerReferences"][0]
    assert (owner["kind"], owner["uid"]) == ("Node", node["metadata"]["uid"])
    assert json.loads(node["metadata"]["annotations"]["csi.volume.kubernetes.io/nodeid"]) == {
        "fake.csi.test": "fake-node"
    }
    assert node["metadata"]["labels"]["topology.fake.csi.test/zone"] == "z1"
    driver.stop()
    within(SECONDS, lambda: not site.api.call("GET", f"{STORAGE}/csinodes/{NODE}")["spec"]["drivers"], "end of it")
    driver.start()
    driver.wait_registered(2, SECONDS)
    assert site.api.call("GET", f"{STORAGE}/csinodes/{NODE}")["spec"]["drivers"] == [entry]


@pytest.mark.parametrize(
    ("more", "text"),
    [
        (
            {"kind": "OtherPlugin"},
            "no handler registered for plugin type: OtherPlugin at socket",
        ),
        (
            {"versions": ("0.3.0",)},
            "plugin validation failed with err: validation failed for CSI Driver other.csi.test",
        ),
    ],
)
def test_a_driver_of_an_unsupported_version_is_refused_with_a_reason(
    site: Joined, more: dict[str, Any], text: str
) -> None:
    with FakeDriver(f"{site.node.home}/root", name="other.csi.test", **more).running() as other:
        within(SECONDS, lambda: bool(other.said), "word of its registration")
        assert not other.said[0][0]
        assert other.said[0][1].startswith(f"RegisterPlugin error -- {text}")


def test_a_volume_is_attached_staged_once_published_to_each_pod_and_unpublished(
    site: Joined, driver: FakeDriver
) -> None:
    csi_driver(site, fsGroupPolicy="File", podInfoOnMount=True)
    volume(site, "disk", volumeAttributes={"kind": "fast"}, fsType="ext4")
    group = {"securityContext": {"fsGroup": 1001}}
    site.create(user("one", "disk", **group), user("two", "disk", **group))
    attachment = attachment_name("handle-disk", "fake.csi.test", NODE)
    name = unique_name("fake.csi.test", "handle-disk")

    def in_use() -> list[str]:
        found: list[str] = site.nodes.now[f"/{NODE}"]["status"].get("volumesInUse") or []
        return found

    within(SECONDS, lambda: in_use() == [name], "volume in use in the node's status")
    assert [reason for reason, _ in events(site, "one") if reason == "FailedMount"] == []
    spec = {"attacher": "fake.csi.test", "nodeName": NODE, "source": {"persistentVolumeName": "pv-disk"}}
    with suppress(AlreadyExists):  # a cluster's own controller asks for it, too
        site.api.call("POST", f"{STORAGE}/volumeattachments", {"metadata": {"name": attachment}, "spec": spec})
    attached = {"status": {"attached": True, "attachmentMetadata": {"device": "/dev/fake"}}}
    site.api.merge(f"{STORAGE}/volumeattachments/{attachment}/status", attached)
    site.wait_pods_ready("one", "two", seconds=SECONDS)
    staged = driver.requests("NodeStageVolume")[0]
    assert (staged.volume_id, dict(staged.publish_context)) == ("handle-disk", {"device": "/dev/fake"})
    mount = staged.volume_capability.mount
    assert (mount.fs_type, list(mount.mount_flags)) == ("ext4", ["noatime"])
    published = driver.requests("NodePublishVolume")
    assert {one.staging_target_path for one in published} == {staged.staging_target_path}
    assert {one.volume_context["csi.storage.k8s.io/pod.name"] for one in published} == {"one", "two"}
    assert {one.volume_context["kind"] for one in published} == {"fast"}
    assert run(site, "one", "cat", "/v/id") == "handle-disk"
    run(site, "one", "touch", "/v/new")
    assert run(site, "two", "stat", "-c", "%g", "/v/id", "/v/new") == "1001\n1001\n"
    within(SECONDS, lambda: bool(measured(site, "one")), "figures of the volume")
    figures = measured(site, "one")
    assert figures["pvcRef"] == {"name": "disk", "namespace": "default"}
    assert figures["capacityBytes"] > figures["usedBytes"] > 0
    page = site.kubectl("get", "--raw", f"{NODES}/{NODE}/proxy/metrics").splitlines()
    series = 'kubelet_volume_stats_%s{namespace="default",persistentvolumeclaim="disk"} '
    for name, figure in (("capacity_bytes", "capacityBytes"), ("used_bytes", "usedBytes"), ("inodes", "inodes")):
        assert [line for line in page if line.startswith(series % name)] == [f"{series % name}{figures[figure]}"]
    gone(site, "one")
    within(SECONDS, lambda: len(driver.requests("NodeUnpublishVolume")) >= 1, "unpublishing")
    assert not driver.requests("NodeUnstageVolume")
    assert run(site, "two", "cat", "/v/id") == "handle-disk"
    gone(site, "two")
    within(SECONDS, lambda: bool(driver.requests("NodeUnstageVolume")) and not left(site), "unstaging")
    within(SECONDS, lambda: in_use() == [], "no volume in use")


def test_an_ephemeral_volume_is_published_only_if_the_driver_supports_it(site: Joined, driver: FakeDriver) -> None:
    csi_driver(site, attachRequired=False, volumeLifecycleModes=["Persistent"])
    source = {"driver": "fake.csi.test", "volumeAttributes": {"size": "1"}}
    mounts = [{"name": "v", "mountPath": "/v"}]
    made = pod("inline", container("main", volumeMounts=mounts), volumes=[{"name": "v", "csi": source}])
    site.create(made)
    text = 'volume mode "Ephemeral" not supported by driver fake.csi.test (only supports ["Persistent"])'
    within(SECONDS, lambda: any(text in said for _, said in events(site, "inline")), "event")
    tokens = [{"audience": "vault", "expirationSeconds": 3600}]
    modes = ["Persistent", "Ephemeral"]
    csi_driver(site, attachRequired=False, volumeLifecycleModes=modes, podInfoOnMount=True, tokenRequests=tokens)
    site.wait_pods_ready("inline", seconds=SECONDS)
    run(site, "inline", "touch", "/v/new")
    (asked,) = [one for one in driver.requests("NodePublishVolume") if not one.staging_target_path]
    context = dict(asked.volume_context)
    assert (context["csi.storage.k8s.io/ephemeral"], context["size"]) == ("true", "1")
    given = json.loads(context["csi.storage.k8s.io/serviceAccount.tokens"])["vault"]
    assert len(given["token"].split(".")) == 3
    assert given["expirationTimestamp"].endswith("Z")
    assert not driver.requests("NodeStageVolume")
    gone(site, "inline")
    within(SECONDS, lambda: not left(site), "end of the mounts")


def test_a_volume_outlives_the_volume_manager_and_is_unpublished_once_its_driver_is_back(
    site: Joined, driver: FakeDriver
) -> None:
    csi_driver(site, attachRequired=False)
    volume(site, "lasting")
    site.create(user("lasts", "lasting"))
    site.wait_pods_ready("lasts", seconds=SECONDS)
    run(site, "lasts", "sh", "-c", "echo kept > /v/f")
    before = site.node.actors()["volume_manager"].incarnation
    site.node.inject("volume_manager", "crash")
    site.node.wait_replaced("volume_manager", before)
    driver.wait_registered(2, SECONDS)
    assert run(site, "lasts", "cat", "/v/f") == "kept\n"
    driver.failing["NodeUnpublishVolume"] = "the backend is away"
    site.delete("lasts", 0)
    within(SECONDS, lambda: len(driver.requests("NodeUnpublishVolume")) >= 2, "another try")
    assert left(site)
    driver.failing.clear()
    within(SECONDS, lambda: bool(driver.requests("NodeUnstageVolume")) and not left(site), "unstaging")
    site.wait_no_pod("lasts")


def test_a_volume_has_the_figures_of_a_driver_that_measures_it(site: Joined) -> None:
    with FakeDriver(f"{site.node.home}/root", name="scales.csi.test", measures=True).running() as scales:
        scales.wait_registered(seconds=SECONDS)
        path = f"{STORAGE}/csidrivers"
        spec = {"metadata": {"name": "scales.csi.test"}, "spec": {"attachRequired": False}}
        site.api.call("POST", path, spec)
        volume(site, "weighed", driver="scales.csi.test")
        site.create(user("light", "weighed"))
        site.wait_pods_ready("light", seconds=SECONDS)
        within(100.0, lambda: measured(site, "light").get("capacityBytes") == 5000, "figures of the driver")
        found = measured(site, "light")
        assert (found["availableBytes"], found["usedBytes"], found["inodesUsed"]) == (3000, 2000, 20)
        assert found["pvcRef"] == {"name": "weighed", "namespace": "default"}
        (asked, *_) = scales.requests("NodeGetVolumeStats")
        assert (asked.volume_id, Path(asked.volume_path).name) == ("handle-weighed", "mount")
        page = site.kubectl("get", "--raw", f"{NODES}/{NODE}/proxy/metrics")
        assert 'kubelet_volume_stats_used_bytes{namespace="default",persistentvolumeclaim="weighed"} 2000' in page
        gone(site, "light")
        within(SECONDS, lambda: bool(scales.requests("NodeUnstageVolume")) and not left(site), "unstaging")


def test_an_in_tree_volume_of_a_claim_and_one_of_a_pod_are_mounted_by_their_driver(site: Joined) -> None:
    name = "ebs.csi.aws.com"
    with FakeDriver(f"{site.node.home}/root", name=name).running() as ebs:
        ebs.wait_registered(seconds=SECONDS)
        site.api.call("POST", f"{STORAGE}/csidrivers", {"metadata": {"name": name}, "spec": {"attachRequired": False}})
        spec = {**MODES, "volumeName": "pv-old", "resources": {"requests": SIZE}}
        claim = site.api.call("POST", f"{BASE}/persistentvolumeclaims", {"metadata": {"name": "old"}, "spec": spec})
        uid = claim["metadata"]["uid"]
        bound = {"kind": "PersistentVolumeClaim", "namespace": "default", "name": "old", "uid": uid}
        disk = {"volumeID": "aws://us-east-1a/vol-1", "fsType": "ext4"}
        made = {**MODES, "capacity": SIZE, "claimRef": bound, "awsElasticBlockStore": disk}
        site.api.call("POST", "/api/v1/persistentvolumes", {"metadata": {"name": "pv-old"}, "spec": made})
        site.api.merge(f"{BASE}/persistentvolumeclaims/old/status", {"status": {"phase": "Bound"}})
        mounts = [{"name": "v", "mountPath": "/v"}]
        inline = [{"name": "v", "awsElasticBlockStore": {"volumeID": "vol-2", "readOnly": True}}]
        site.create(user("claims", "old"), pod("inline", container("main", volumeMounts=mounts), volumes=inline))
        site.wait_pods_ready("claims", "inline", seconds=SECONDS)
        assert [run(site, one, "cat", "/v/id") for one in ("claims", "inline")] == ["vol-1", "vol-2"]
        published = {one.volume_id: one for one in ebs.requests("NodePublishVolume")}
        assert published["vol-1"].volume_capability.mount.fs_type == "ext4"
        assert [published[one].readonly for one in ("vol-1", "vol-2")] == [False, True]
        gone(site, "claims")
        gone(site, "inline")
        within(SECONDS, lambda: len(ebs.requests("NodeUnstageVolume")) == 2 and not left(site), "unstaging")


@pytest.fixture
def loop_device(tmp_path: Path) -> Iterator[str]:
    """A block device of 8 MiB."""
    image = tmp_path / "image"
    image.write_bytes(bytes(8 << 20))
    made = subprocess.run(["losetup", "-f", "--show", str(image)], capture_output=True, text=True, check=False)
    if made.returncode:
        pytest.skip(f"no loop device: {made.stderr.strip()}")
    yield made.stdout.strip()
    subprocess.run(["losetup", "-d", made.stdout.strip()], check=True)


def test_a_volume_is_a_device_of_the_containers_with_volume_devices(
    site: Joined, driver: FakeDriver, loop_device: str, tmp_path: Path
) -> None:
    csi_driver(site, attachRequired=False, fsGroupPolicy="File")
    volume(site, "raw", mode="Block")
    driver.device = loop_device
    main = container("main", volumeDevices=[{"name": "v", "devicePath": "/dev/raw-disk"}])
    volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": "raw"}}]
    site.create(pod("device", main, volumes=volumes, securityContext={"fsGroup": 1001}))
    site.wait_pods_ready("device", seconds=SECONDS)
    run(site, "device", "sh", "-c", "echo written by the pod | dd of=/dev/raw-disk bs=512 conv=sync,fsync")
    assert Path(loop_device).read_bytes().startswith(b"written by the pod\n")
    uid = site.pod("device")["metadata"]["uid"]
    (staged,) = driver.requests("NodeStageVolume")
    (published,) = driver.requests("NodePublishVolume")
    assert staged.volume_capability.HasField("block")
    assert published.target_path == f"{Path(published.target_path).parents[2]}/publish/pv-raw/{uid}"
    before = site.node.actors()["volume_manager"].incarnation
    site.node.inject("volume_manager", "crash")
    site.node.wait_replaced("volume_manager", before)
    driver.wait_registered(2, SECONDS)
    gone(site, "device")
    within(SECONDS, lambda: bool(driver.requests("NodeUnstageVolume")), "unstaging")
    (undone,) = driver.requests("NodeUnstageVolume")
    assert undone.staging_target_path == staged.staging_target_path
    root, empty = Path(f"{site.node.home}/root/plugins/kubernetes.io/csi/volumeDevices"), ["publish", "staging"]
    within(SECONDS, lambda: sorted(one.name for one in root.rglob("*")) == empty, "nothing left")


def test_a_file_system_is_not_given_as_a_device(site: Joined, driver: FakeDriver) -> None:
    csi_driver(site, attachRequired=False)
    volume(site, "files")
    main = container("main", volumeDevices=[{"name": "v", "devicePath": "/dev/x"}])
    site.create(pod("wrong", main, volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "files"}}]))
    text = "volume v has volumeMode Filesystem, but is specified in volumeDevices"
    within(SECONDS, lambda: any(text in said for _, said in events(site, "wrong")), "event")


@pytest.fixture
def growing(site: Joined) -> Iterator[FakeDriver]:
    with FakeDriver(f"{site.node.home}/root", expands=True).running() as found:
        found.wait_registered(seconds=SECONDS)
        yield found


def test_a_volume_grows_under_a_running_pod_and_its_claim_reports_the_size(site: Joined, growing: FakeDriver) -> None:
    csi_driver(site, attachRequired=False)
    volume(site, "grows")
    site.create(user("big", "grows"))
    site.wait_pods_ready("big", seconds=SECONDS)
    size = {"storage": "3Gi"}
    # as the cluster's resizer leaves them
    site.api.merge("/api/v1/persistentvolumes/pv-grows", {"spec": {"capacity": size}})
    status = {"allocatedResources": size, "allocatedResourceStatuses": {"storage": "NodeResizePending"}}
    waits = {"conditions": [{"type": "FileSystemResizePending", "status": "True"}], "capacity": SIZE}
    claim = f"{BASE}/persistentvolumeclaims/grows"
    site.api.merge(f"{claim}/status", {"status": {**status, **waits}})

    def capacity() -> Any:
        return site.api.call("GET", claim)["status"].get("capacity")

    site.create(user("second", "grows"))  # its mount is sooner than the next look at the claims
    site.wait_pods_ready("second", seconds=SECONDS)
    within(SECONDS, lambda: capacity() == size, "the claim's new size")
    assert int(run(site, "big", "df", "-Pk", "/v").splitlines()[1].split()[1]) == 3 << 20
    found = site.api.call("GET", claim)["status"]
    assert (found.get("allocatedResourceStatuses") or {}, found.get("conditions") or []) == ({}, [])
    within(SECONDS, lambda: any("NodeExpandVolume succeeded" in text for _, text in events(site, "second")), "event")
    for name in ("big", "second"):
        gone(site, name)


def test_a_failed_attachment_for_lack_of_room_refreshes_the_drivers_count(site: Joined, driver: FakeDriver) -> None:
    csi_driver(site, nodeAllocatableUpdatePeriodSeconds=600)
    volume(site, "full")
    site.create(user("full", "full"))
    attachment = attachment_name("handle-full", "fake.csi.test", NODE)
    spec = {"attacher": "fake.csi.test", "nodeName": NODE, "source": {"persistentVolumeName": "pv-full"}}
    with suppress(AlreadyExists):  # a cluster's own controller asks for it, too
        site.api.call("POST", f"{STORAGE}/volumeattachments", {"metadata": {"name": attachment}, "spec": spec})
    driver.fits = 3
    error = {"message": "no room", "errorCode": 8, "time": "2026-01-01T00:00:00Z"}
    refused = {"status": {"attached": False, "attachError": error}}
    site.api.merge(f"{STORAGE}/volumeattachments/{attachment}/status", refused)

    def listed() -> Any:
        return site.api.call("GET", f"{STORAGE}/csinodes/{NODE}")["spec"]["drivers"][0]["allocatable"]

    within(SECONDS, lambda: listed() == {"count": 3}, "the new count")
    gone(site, "full")
