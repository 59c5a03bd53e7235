"""What has to be done for a pod's volumes."""

import pytest

from actors.shared.kube.codec import decode_pod, encode
from actors.shared.kube.volumes import Volume
from actors.volume_manager import plan
from actors.volume_manager.layout import is_name, is_uid
from actors.volume_manager.mount_program import command
from actors.volume_manager.nfs import Nfs
from actors.volume_manager.plan import ByRuntime, Directory, HostPath, HugePages, MemoryDirectory, Refused
from actors.volume_manager.sources import CSI_DRIVERS, NEEDS_API, NOT_YET, REMOVED, refusal, source_of

GIB = 1 << 30


def steps(*volumes, containers=(), memory=4 * GIB, **spec):
    pod = decode_pod(encode({"spec": {"volumes": list(volumes), "containers": list(containers), **spec}}))
    return plan.plan(pod, "/pods/u", memory)


def container(**limits):
    return {"name": "c", "resources": {"limits": {name.replace("_", "-"): value for name, value in limits.items()}}}


def memory_size(limit=None, containers=(), memory=4 * GIB, **spec):
    source = {"medium": "Memory"} | ({"sizeLimit": limit} if limit else {})
    (step,) = steps({"name": "m", "emptyDir": source}, containers=containers, memory=memory, **spec)
    assert isinstance(step, MemoryDirectory)
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
        Directory("a", "/pods/u/volumes/kubernetes.io~empty-dir/a", None),
        HostPath("b", "/x", "File"),
        ByRuntime("c"),
        Nfs("d", "/pods/u/volumes/kubernetes.io~nfs/d", "s:/", []),
    ]
    assert isinstance(found[4], Refused)


def test_memory_is_bounded_by_the_smallest_of_node_pod_and_volume():
    assert memory_size() == 4 * GIB
    assert memory_size("1Gi") == GIB
    assert memory_size("8Gi") == 4 * GIB
    assert memory_size(containers=[container(memory="1Gi"), container(memory="1Gi")]) == 2 * GIB
    assert memory_size(containers=[container(memory="1Gi"), container(cpu="1")]) == 4 * GIB
    assert memory_size("1Mi", containers=[container(memory="1Gi")]) == 1 << 20
    assert memory_size(resources={"limits": {"memory": "3Gi"}}, containers=[container()]) == 3 * GIB
    assert memory_size(memory=0) == 0


def test_huge_pages_need_a_request_of_that_size():
    def volume(medium):
        return {"name": "h", "emptyDir": {"medium": medium}}

    two = container(hugepages_2Mi="4Mi")
    one = container(hugepages_1Gi="1Gi")

    assert steps(volume("HugePages"), containers=[two]) == [
        HugePages("h", "/pods/u/volumes/kubernetes.io~empty-dir/h", None, 2 << 20)
    ]
    assert steps(volume("HugePages-1Gi"), containers=[two, one])[0].page_size == GIB
    assert isinstance(steps(volume("HugePages"), containers=[two, one])[0], Refused)
    assert isinstance(steps(volume("HugePages-1Gi"), containers=[two])[0], Refused)
    assert isinstance(steps(volume("HugePagesX"), containers=[two])[0], Refused)


@pytest.mark.parametrize("path", ["x", "", "/a/../b", "/a/..", "/a\0b"])
def test_a_host_path_must_be_absolute_and_without_dots(path):
    assert isinstance(steps({"name": "h", "hostPath": {"path": path}})[0], Refused)


@pytest.mark.parametrize("name", ["..", "a/b", "", "A", "-a"])
def test_a_volumes_name_is_never_a_path(name):
    assert not is_name(name)
    assert isinstance(steps({"name": name, "emptyDir": {}})[0], Refused)


def test_uids_of_the_api_and_of_static_pods_can_be_directories():
    assert is_uid("4d3a9b1e-1f2b-4c3d-9a8b-0123456789ab")
    assert is_uid("0123456789abcdef0123456789abcdef")
    assert not any(map(is_uid, ["", ".", "..", "a/b", "-a", "a\n", "x" * 200]))


def _with(source):
    bodies = {
        "persistentVolumeClaim": {"claimName": "c"},
        "csi": {"driver": "d"},
    }
    pod = decode_pod(encode({"spec": {"volumes": [{"name": "vol", source: bodies.get(source, {})}]}}))
    return pod.spec.volumes[0]


@pytest.mark.parametrize("source", [*CSI_DRIVERS, *REMOVED, *NEEDS_API, *NOT_YET, "gitRepo"])
def test_every_source_that_is_not_made_is_named_with_its_volume(source):
    volume = _with(source)

    assert source_of(volume) == source
    assert refusal(volume).startswith(f"volume 'vol': source {source} ")
    assert CSI_DRIVERS.get(source, "") in refusal(volume)


def test_every_source_of_the_api_is_either_made_or_refused_by_name():
    made = {"emptyDir", "hostPath", "image", "downwardAPI", "nfs"}
    refused = {*CSI_DRIVERS, *REMOVED, *NEEDS_API, *NOT_YET, "gitRepo"}

    assert set(Volume.__struct_fields__) - {"name"} == made | refused


def test_what_is_only_read_is_mounted_so_and_an_address_of_six_has_brackets():
    source = {"server": "fd00::1", "path": "/export", "readOnly": True}

    assert steps({"name": "d", "nfs": source}) == [
        Nfs("d", "/pods/u/volumes/kubernetes.io~nfs/d", "[fd00::1]:/export", ["ro"])
    ]


@pytest.mark.parametrize(
    ("server", "path"), [("", "/"), ("-o", "/"), ("a b", "/"), ("a/b", "/"), ("s", "x"), ("s", "")]
)
def test_what_mount_could_take_for_something_else_is_no_nfs_volume(server, path):
    assert isinstance(steps({"name": "d", "nfs": {"server": server, "path": path}})[0], Refused)


@pytest.mark.parametrize(("mounter", "begin"), [("", ["mount"]), ("/opt/mounter", ["/opt/mounter", "mount"])])
def test_the_mounter_that_was_named_is_given_the_whole_command(mounter, begin):
    assert command("s:/", "/at", "nfs", ["ro", "soft"], mounter) == [*begin, "-t", "nfs", "-o", "ro,soft", "s:/", "/at"]
    assert command("s:/", "/at", "nfs", [], mounter) == [*begin, "-t", "nfs", "s:/", "/at"]
