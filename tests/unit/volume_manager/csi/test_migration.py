"""In-tree volumes as their CSI drivers and the attach controller know them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.shared.kube.codec import decode, decode_pod, encode
from actors.shared.kube.persistent_volumes import PersistentVolume
from actors.shared.kube.volumes import Volume
from actors.volume_manager.csi.csi_node import MIGRATED, new_csi_node
from actors.volume_manager.csi.migration import TRANSLATIONS, MigrationError, migrated, migrated_inline
from actors.volume_manager.types.base import PodContext, RejectedVolume
from actors.volume_manager.types.csi import CsiMounter
from actors.volume_manager.types.registry import plan
from tests.support.volumes import user_of

ZONE = "topology.kubernetes.io/zone"
OLD_ZONE = "failure-domain.beta.kubernetes.io/zone"
OLD_REGION = "failure-domain.beta.kubernetes.io/region"


def volume(source: dict[str, Any], **more: Any) -> PersistentVolume:
    meta = {"name": "pv", "labels": more.pop("labels", {}), "annotations": more.pop("annotations", {})}
    return decode(encode({"metadata": meta, "spec": {**source, **more}}), PersistentVolume)


def zones(*values: str, key: str = ZONE) -> dict[str, Any]:
    term = {"matchExpressions": [{"key": key, "operator": "In", "values": list(values)}]}
    return {"required": {"nodeSelectorTerms": [term]}}


def keys(found: PersistentVolume) -> list[tuple[str, list[str] | None]]:
    assert found.spec.nodeAffinity is not None
    assert found.spec.nodeAffinity.required is not None
    terms = found.spec.nodeAffinity.required.nodeSelectorTerms or []
    return [(one.key, one.values) for term in terms for one in term.matchExpressions or []]


@pytest.mark.parametrize(
    ("source", "driver", "handle", "attributes"),
    [
        (
            {"awsElasticBlockStore": {"volumeID": "aws://us-east-1a/vol-1", "partition": 2}},
            "ebs.csi.aws.com", "vol-1", {"partition": "2"},
        ),
        ({"awsElasticBlockStore": {"volumeID": "vol-2"}}, "ebs.csi.aws.com", "vol-2", {"partition": "0"}),
        (
            {"gcePersistentDisk": {"pdName": "d"}},
            "pd.csi.storage.gke.io", "projects/UNSPECIFIED/zones/UNSPECIFIED/disks/d", {"partition": ""},
        ),
        (
            {"azureDisk": {"diskURI": "/s/d", "kind": "Managed", "cachingMode": "None", "fsType": "xfs"}},
            "disk.csi.azure.com", "/s/d", {"kind": "Managed", "cachingmode": "None", "fstype": "xfs"},
        ),
        (
            {"azureFile": {"secretName": "azure-storage-account-acc-secret", "shareName": "s", "secretNamespace": "x"}},
            "file.csi.azure.com", "#acc#s#pv#x", {"sharename": "s"},
        ),
        ({"azureFile": {"secretName": "o", "shareName": "s"}}, "file.csi.azure.com", "#o#s#pv#ns", {"sharename": "s"}),
        ({"cinder": {"volumeID": "c"}}, "cinder.csi.openstack.org", "c", {}),
        (
            {"vsphereVolume": {"volumePath": "[ds] a/b.vmdk", "storagePolicyName": "gold"}},
            "csi.vsphere.vmware.com", "[ds] a/b.vmdk", {"storagepolicyname": "gold"},
        ),
        ({"portworxVolume": {"volumeID": "p"}}, "pxd.portworx.com", "p", {}),
    ],
)  # fmt: skip
def test_an_in_tree_volume_is_one_of_its_driver(
    source: dict[str, Any], driver: str, handle: str, attributes: dict[str, str]
) -> None:
    found = migrated(volume(source), "ns")
    assert found.spec.csi is not None
    assert (found.spec.csi.driver, found.spec.csi.volumeHandle) == (driver, handle)
    assert found.spec.csi.volumeAttributes == attributes
    assert decode(encode(found), PersistentVolume) == found, "it is saved for when the server is away"
    assert migrated(found, "ns") is found


def test_secrets_of_a_share_and_of_portworx_are_the_drivers() -> None:
    share = migrated(volume({"azureFile": {"secretName": "s", "shareName": "x"}}), "ns").spec.csi
    assert share is not None
    assert share.nodeStageSecretRef is not None
    assert (share.nodeStageSecretRef.name, share.nodeStageSecretRef.namespace) == ("s", "ns")
    given = {"openstorage.io/auth-secret-name": "a", "openstorage.io/auth-secret-namespace": "b"}
    px = migrated(volume({"portworxVolume": {"volumeID": "p"}}, annotations=given), "ns").spec.csi
    assert px is not None
    assert px.nodePublishSecretRef is not None
    assert (px.nodePublishSecretRef.name, px.nodePublishSecretRef.namespace) == ("a", "b")


@pytest.mark.parametrize(
    ("labels", "handle"),
    [
        ({OLD_ZONE: "us-central1-a"}, "zones/us-central1-a"),
        ({ZONE: "us-central1-a__us-central1-b"}, "regions/us-central1"),
    ],
)
def test_a_disk_of_gce_is_in_the_zone_or_the_region_of_its_labels(labels: dict[str, str], handle: str) -> None:
    found = migrated(volume({"gcePersistentDisk": {"pdName": "d"}}, labels=labels, accessModes=["ReadWriteMany"]), "ns")
    assert found.spec.csi is not None
    assert found.spec.csi.volumeHandle == f"projects/UNSPECIFIED/{handle}/disks/d"
    assert found.spec.accessModes == ["ReadWriteOnce"]
    ((key, _),) = keys(found)
    assert key == "topology.gke.io/zone"


def test_zones_have_the_drivers_key() -> None:
    ebs = {"awsElasticBlockStore": {"volumeID": "v"}}
    assert keys(migrated(volume(ebs, nodeAffinity=zones("a", "b")), "ns")) == [
        ("topology.ebs.csi.aws.com/zone", ["a", "b"])
    ]
    old = migrated(volume(ebs, nodeAffinity=zones("a", key=OLD_ZONE)), "ns")
    assert keys(old) == [("topology.ebs.csi.aws.com/zone", ["a"])]
    labelled = migrated(volume(ebs, labels={ZONE: "a__b"}, nodeAffinity=zones("h", key="kubernetes.io/hostname")), "ns")
    assert keys(labelled) == [("kubernetes.io/hostname", ["h"]), ("topology.ebs.csi.aws.com/zone", ["a", "b"])]
    disk = {"vsphereVolume": {"volumePath": "p"}}
    labels = {OLD_ZONE: "z", OLD_REGION: "r"}
    assert keys(migrated(volume(disk, labels=labels), "ns")) == [
        ("topology.csi.vmware.com/zone", ["z"]), ("topology.csi.vmware.com/region", ["r"])
    ]  # fmt: skip
    assert migrated(volume(ebs), "ns").spec.nodeAffinity is None


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ({"awsElasticBlockStore": {"volumeID": "aws://zone/disk"}}, "invalid format"),
        ({"awsElasticBlockStore": {"volumeID": "aws://[zone/vol-1"}}, "invalid format"),
        ({"awsElasticBlockStore": {}}, "names no volume of the driver ebs.csi.aws.com"),
        ({"azureDisk": {"diskURI": "u", "kind": "Dedicated"}}, r"kind\(Dedicated\) is not supported in csi migration"),
        ({"cinder": {"volumeID": 7}}, "volumeID"),
        ({"gcePersistentDisk": []}, "object"),
    ],
)
def test_a_source_that_cannot_be_migrated_is_refused_by_name(source: dict[str, Any], text: str) -> None:
    with pytest.raises(MigrationError, match=text):
        migrated(volume(source), "ns")
    (refused,) = planned(source)
    assert isinstance(refused, RejectedVolume)
    assert next(iter(source)) in refused.message


def planned(source: dict[str, Any]) -> list[Any]:
    volumes = [{"name": "v", **source}]
    meta = {"name": "p", "namespace": "ns", "uid": "u"}
    pod = decode_pod(encode({"metadata": meta, "spec": {"volumes": volumes, "containers": [user_of(volumes)]}}))
    return list(plan(PodContext(pod=pod, pod_dir="/pods/u", plugins_dir="/plugins"), joined=True))


@pytest.mark.parametrize(
    ("source", "modes"),
    [
        ({"gcePersistentDisk": {"pdName": "d", "readOnly": True}}, ["ReadOnlyMany"]),
        ({"gcePersistentDisk": {"pdName": "d"}}, ["ReadWriteOnce"]),
        ({"awsElasticBlockStore": {"volumeID": "vol-1", "readOnly": True}}, ["ReadWriteOnce"]),
        ({"azureFile": {"secretName": "s", "shareName": "x", "readOnly": True}}, ["ReadWriteMany"]),
    ],
)
def test_the_access_mode_of_an_inline_volume_follows_from_its_type(source: dict[str, Any], modes: list[str]) -> None:
    (field,) = source
    inline = decode(encode({"name": "v", **source}), Volume)
    assert migrated_inline(inline, field, "ns").spec.accessModes == modes


@pytest.mark.parametrize(
    ("source", "name", "read_only"),
    [
        ({"awsElasticBlockStore": {"volumeID": "vol-1", "readOnly": True}}, "ebs.csi.aws.com-vol-1", True),
        ({"gcePersistentDisk": {"pdName": "d", "fsType": None}}, "pd.csi.storage.gke.io-d", False),
        ({"azureDisk": {"diskName": "d", "diskURI": "/subscriptions/s/d"}}, "~subscriptions~s~d", False),
        ({"azureFile": {"secretName": "s", "shareName": "x"}}, "#s#x#v#ns", False),
        ({"vsphereVolume": {"volumePath": "[ds] a/b.vmdk"}}, "csi.vsphere.vmware.com-[ds] a~b.vmdk", False),
        ({"portworxVolume": {"volumeID": "p"}}, "pxd.portworx.com-p", False),
        ({"portworxVolume": {"volumeID": "p", "readOnly": True}}, "pxd.portworx.com-p", True),
    ],
)
def test_an_inline_volume_is_mounted_below_its_pod(source: dict[str, Any], name: str, read_only: bool) -> None:
    (found,) = planned(source)
    assert isinstance(found, CsiMounter)
    assert found.path == f"/pods/u/volumes/kubernetes.io~csi/{name}/mount"
    assert found.mount.read_only == read_only
    assert not found.mount.source.ephemeral, "it would not be attached"


@given(
    st.sampled_from(sorted(TRANSLATIONS)),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=9),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
            st.sampled_from(["volumeID", "diskURI", "pdName", "shareName", "readOnly", "fsType"]), inner, max_size=4
        ),
    ) | st.fixed_dictionaries(dict.fromkeys(
        ("volumeID", "diskURI", "diskName", "pdName", "secretName", "shareName", "volumePath"), st.text(max_size=9)
    )),
)  # fmt: skip
def test_any_in_tree_source_is_translated_or_refused(field: str, source: Any) -> None:
    if source is None:
        return
    one = decode(encode({"name": "v", field: source}), Volume)
    for translate in (lambda: migrated(volume({field: source}), "ns"), lambda: migrated_inline(one, field, "ns")):
        try:
            found = translate()
        except MigrationError:
            continue
        assert found.spec.csi is not None
        assert found.spec.csi.volumeHandle


def test_the_csi_node_lists_every_migrated_plugin() -> None:
    emitted_reasons = new_csi_node("n", "u")["metadata"]["annotations"][MIGRATED].split(",")
    assert len(emitted_reasons) == len(TRANSLATIONS)
