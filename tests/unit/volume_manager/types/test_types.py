"""What has to be done for a pod's volumes."""

import pytest

from actors.shared.kube.codec import decode_pod, encode
from actors.shared.kube.volumes import Volume
from actors.volume_manager.csi.migration import TRANSLATIONS
from actors.volume_manager.failure_texts import MountError
from actors.volume_manager.host.mount_program import command
from actors.volume_manager.persistent_volumes.volume_claims import UnusableVolume
from actors.volume_manager.types.base import PendingVolume, PodContext, RejectedVolume
from actors.volume_manager.types.empty_dir import EmptyDir, HugePagesEmptyDir, MemoryEmptyDir
from actors.volume_manager.types.host_path import HostPath
from actors.volume_manager.types.image import ImageVolume
from actors.volume_manager.types.nfs import Nfs
from actors.volume_manager.types.registry import BY_SOURCE, MOUNTED, TYPES, plan, type_of
from actors.volume_manager.volume_paths import is_name, is_uid
from tests.support.volumes import user_of

GIB = 1 << 30


def steps(*volumes, containers=(), memory=4 * GIB, **spec):
    pod = decode_pod(
        encode(
            {
                "spec": {
                    "volumes": list(volumes),
                    "containers": list(containers),
                    "ephemeralContainers": [user_of(volumes)],
                    **spec,
                }
            }
        )
    )
    return plan(PodContext(pod=pod, pod_dir="/pods/u", plugins_dir="/plugins", node_memory=memory))


def container(**limits):
    return {"name": "c", "resources": {"limits": {name.replace("_", "-"): value for name, value in limits.items()}}}


def memory_size(limit=None, containers=(), memory=4 * GIB, **spec):
    source = {"medium": "Memory"} | ({"sizeLimit": limit} if limit else {})
    (step,) = steps({"name": "m", "emptyDir": source}, containers=containers, memory=memory, **spec)
    assert isinstance(step, MemoryEmptyDir)
    return step.size


def test_the_steps_are_in_the_order_of_the_volumes():
    found = steps(
        {"name": "a", "emptyDir": {}},
        {"name": "b", "hostPath": {"path": "/x", "type": "File"}},
        {"name": "c", "image": {"reference": "r"}},
        {"name": "d", "nfs": {"server": "s", "path": "/"}},
        {"name": "e", "csi": {"driver": "d"}},
    )

    assert found[:4] == [
        EmptyDir(volume="a", path="/pods/u/volumes/kubernetes.io~empty-dir/a"),
        HostPath(volume="b", path="/x", kind="File"),
        ImageVolume(volume="c"),
        Nfs(volume="d", path="/pods/u/volumes/kubernetes.io~nfs/d", export="s:/"),
    ]
    assert isinstance(found[4], RejectedVolume)


def test_memory_is_bounded_by_the_smallest_of_node_pod_and_volume():
    assert memory_size() == 4 * GIB
    assert memory_size("1Gi") == GIB
    assert memory_size("8Gi") == 4 * GIB
    assert memory_size(containers=[container(memory="1Gi"), container(memory="1Gi")]) == 2 * GIB
    assert memory_size(containers=[container(memory="1Gi"), container(cpu="1")]) == 4 * GIB
    assert memory_size("1Mi", containers=[container(memory="1Gi")]) == 1 << 20
    assert memory_size(resources={"limits": {"memory": "3Gi"}}, containers=[container()]) == 3 * GIB
    assert memory_size(memory=0) == 0


def test_memory_is_bounded_by_the_limit_that_the_cgroup_of_the_pod_has():
    main, small, large = container(memory="1Gi"), container(memory="512Mi"), container(memory="3Gi")
    assert memory_size(initContainers=[small], containers=[main]) == GIB
    assert memory_size(initContainers=[large, small], containers=[main]) == 3 * GIB
    assert memory_size(initContainers=[{**small, "restartPolicy": "Always"}], containers=[main]) == 3 * GIB // 2
    assert memory_size(containers=[main], overhead={"memory": "1Gi"}) == 2 * GIB


def test_huge_pages_need_a_request_of_that_size():
    def volume(medium):
        return {"name": "h", "emptyDir": {"medium": medium}}

    two = container(hugepages_2Mi="4Mi")
    one = container(hugepages_1Gi="1Gi")

    assert steps(volume("HugePages"), containers=[two]) == [
        HugePagesEmptyDir(volume="h", path="/pods/u/volumes/kubernetes.io~empty-dir/h", page_size=2 << 20)
    ]
    assert steps(volume("HugePages-1Gi"), containers=[two, one])[0].page_size == GIB
    assert steps(volume("HugePages-2048Ki"), containers=[two])[0].page_size == 2 << 20
    several = "medium: HugePages can't be used if container requests multiple huge page sizes"
    assert steps(volume("HugePages"), containers=[two, one]) == [_unusable("h", several)]
    for medium, containers in (("HugePages-1Gi", [two]), ("HugePages", []), ("HugePages-x", [two])):
        text = f"medium {medium}: hugePages storage requested, but there is no resource request for huge pages"
        assert steps(volume(medium), containers=containers) == [_unusable("h", text)]
    assert isinstance(steps(volume("HugePagesX"), containers=[two])[0], RejectedVolume)


def _unusable(name, text):
    """Its event is `MountVolume.SetUp failed for volume`."""
    return PendingVolume(name, text, UnusableVolume(name, MountError(text)))


def test_huge_pages_requested_by_the_pod_as_a_whole_are_enough():
    volume = {"name": "h", "emptyDir": {"medium": "HugePages"}}
    (found,) = steps(volume, resources={"limits": {"hugepages-2Mi": "4Mi"}})
    assert isinstance(found, HugePagesEmptyDir)
    assert found.page_size == 2 << 20


@pytest.mark.parametrize("path", ["x", "", "/a/../b", "/a/..", "/a\0b"])
def test_a_host_path_must_be_absolute_and_without_dots(path):
    assert isinstance(steps({"name": "h", "hostPath": {"path": path}})[0], RejectedVolume)


@pytest.mark.parametrize("name", ["..", "a/b", "", "A", "-a"])
def test_a_volumes_name_is_never_a_path(name):
    assert not is_name(name)
    assert isinstance(steps({"name": name, "emptyDir": {}})[0], RejectedVolume)


def test_uids_of_the_api_and_of_static_pods_can_be_directories():
    assert is_uid("4d3a9b1e-1f2b-4c3d-9a8b-0123456789ab")
    assert is_uid("0123456789abcdef0123456789abcdef")
    assert not any(map(is_uid, ["", ".", "..", "a/b", "-a", "a\n", "x" * 200]))


def _with(source):
    bodies = {"persistentVolumeClaim": {"claimName": "c"}, "csi": {"driver": "d"}}
    return {"name": "vol", source: bodies.get(source, {})}


@pytest.mark.parametrize("source", [found.source for found in TYPES if found not in MOUNTED or found.needs_api])
def test_a_source_that_is_not_mounted_is_refused_by_its_name_and_its_volumes(source):
    (found,) = steps(_with(source))

    assert isinstance(found, RejectedVolume)
    assert found.message.startswith(f"volume 'vol': source {source} ")
    if source in TRANSLATIONS:
        assert TRANSLATIONS[source].driver in found.message


def test_every_source_of_the_api_has_a_type_and_each_type_one_source():
    assert set(Volume.__struct_fields__) - {"name"} == BY_SOURCE.keys() - {"local"}
    assert len(BY_SOURCE) == len(TYPES)


@pytest.mark.parametrize("source", ["emptyDir", "ephemeral", "gitRepo", "csi"])
def test_a_type_is_recognised_by_the_source_that_is_set(source):
    pod = decode_pod(encode({"spec": {"volumes": [_with(source)]}}))
    assert type_of(pod.spec.volumes[0]) is BY_SOURCE[source]


def test_a_type_can_be_planned_from_a_pod_or_a_persistent_volume_or_is_a_claim():
    claims = {"persistentVolumeClaim", "ephemeral"}
    assert {found.source for found in TYPES if found.plan is None and found.plan_claim is None} == claims
    persistent = {"csi", "fc", "flexVolume", "hostPath", "iscsi", "local", "nfs"}
    assert {found.source for found in TYPES if found.plan_claim is not None} == persistent


def test_a_read_only_nfs_volume_is_mounted_read_only_and_an_ipv6_server_has_brackets():
    source = {"server": "fd00::1", "path": "/export", "readOnly": True}

    assert steps({"name": "d", "nfs": source}) == [
        Nfs(volume="d", path="/pods/u/volumes/kubernetes.io~nfs/d", export="[fd00::1]:/export", options=["ro"])
    ]


@pytest.mark.parametrize(
    ("server", "path"), [("", "/"), ("-o", "/"), ("a b", "/"), ("a/b", "/"), ("s", "x"), ("s", "")]
)
def test_an_nfs_source_that_mount_could_misread_is_refused(server, path):
    assert isinstance(steps({"name": "d", "nfs": {"server": server, "path": path}})[0], RejectedVolume)


@pytest.mark.parametrize(("mounter", "begin"), [("", ["mount"]), ("/opt/mounter", ["/opt/mounter", "mount"])])
def test_the_configured_mounter_gets_the_whole_command(mounter, begin):
    assert command("s:/", "/at", "nfs", ["ro", "soft"], mounter) == [*begin, "-t", "nfs", "-o", "ro,soft", "s:/", "/at"]
    assert command("s:/", "/at", "nfs", [], mounter) == [*begin, "-t", "nfs", "s:/", "/at"]
