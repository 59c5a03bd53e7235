"""The volume manager with faked neighbours and real files; what needs root to mount is in tests/node/volume_manager."""

import asyncio
import errno
import os
import shutil
import socket
import stat

import pytest

from actors.container_manager.messages import GetNodeResources, NodeResources
from actors.pod_workers.messages import ShardPods, worker_of
from actors.shared.linux import mountinfo
from actors.shared.linux.removal import FEW_FILES
from actors.volume_manager import teardown
from actors.volume_manager.messages import (
    BindSubPaths,
    MountVolumes,
    SubPath,
    SubPathsBound,
    UnmountVolumes,
    VolumeEvent,
    VolumesFailed,
    VolumesMounted,
    VolumesUnmounted,
)
from actors.volume_manager.types.empty_dir import EmptyDir
from actors.volume_manager.types.unsupported import REMOVED
from actors.volume_manager.volume_metrics import TOTAL
from supervision.actor import DisposableError, DisposableTimeout
from supervision.protocol import GetMetrics
from tests.actors.volume_manager.plain_volumes import UID, pod
from tests.support.volumes import user_of

OWN = int(worker_of(UID, 2)[-1])
"""The worker that has the pod."""


async def test_an_empty_dir_is_world_writable_despite_the_umask(manager, tmp_path):
    before = os.umask(0o077)
    try:
        async with manager:
            answer = await manager.deliver(MountVolumes(UID, pod({"name": "data", "emptyDir": {}})))
    finally:
        os.umask(before)

    path = tmp_path / "pods" / UID / "volumes/kubernetes.io~empty-dir/data"
    assert answer == VolumesMounted(UID, {"data": str(path)})
    assert stat.S_IMODE(path.stat().st_mode) == 0o777
    assert manager.disposed == []  # costs no process


async def test_mounting_again_keeps_the_files_of_the_containers(manager):
    async with manager:
        first = await manager.deliver(MountVolumes(UID, pod({"name": "data", "emptyDir": {}})))
        file = os.path.join(first.paths["data"], "written")
        open(file, "w").close()

        assert await manager.deliver(MountVolumes(UID, pod({"name": "data", "emptyDir": {}}))) == first
        assert os.path.exists(file)


async def test_an_empty_dir_belongs_to_the_pods_fs_group(manager):
    group = os.getgid()
    async with manager:
        answer = await manager.deliver(
            MountVolumes(UID, pod({"name": "data", "emptyDir": {}}, securityContext={"fsGroup": group}))
        )

    found = os.stat(answer.paths["data"])
    assert found.st_gid == group
    assert stat.S_IMODE(found.st_mode) == 0o2777


async def test_a_file_of_the_host_that_cannot_be_read_fails_the_volume_and_no_actor(manager, monkeypatch):
    async def fail(*_):
        raise OSError(errno.EMFILE, "Too many open files", "/proc/self/mountinfo")

    mount = MountVolumes(UID, pod({"name": "data", "emptyDir": {}}))
    async with manager:
        with monkeypatch.context() as patch:
            patch.setattr(EmptyDir, "set_up", fail)
            assert "/proc/self/mountinfo: Too many open files" in str(await manager.deliver(mount))
        assert isinstance(await manager.deliver(mount), VolumesMounted)


async def test_the_actor_starts_while_the_mount_table_cannot_be_read(manager, monkeypatch):
    def fail(directory):
        raise OSError(errno.EMFILE, "Too many open files")

    with monkeypatch.context() as patch:
        patch.setattr(mountinfo, "read_below", fail)
        async with manager:
            assert isinstance(
                await manager.deliver(MountVolumes(UID, pod({"name": "data", "emptyDir": {}}))), VolumesMounted
            )


async def test_a_host_path_without_a_type_is_taken_as_it_is(manager):
    async with manager:
        answer = await manager.deliver(MountVolumes(UID, pod({"name": "h", "hostPath": {"path": "/not/there"}})))

    assert answer == VolumesMounted(UID, {"h": "/not/there"})
    assert manager.disposed == []


@pytest.mark.parametrize("kind", ["DirectoryOrCreate", "FileOrCreate"])
async def test_a_host_path_to_create_is_made_with_the_modes_of_the_api(manager, tmp_path, kind):
    path = tmp_path / "made"
    before = os.umask(0o022)
    try:
        async with manager:
            answer = await manager.deliver(
                MountVolumes(UID, pod({"name": "h", "hostPath": {"path": str(path), "type": kind}}))
            )
    finally:
        os.umask(before)

    assert isinstance(answer, VolumesMounted)
    assert stat.S_IMODE(path.stat().st_mode) == (0o755 if kind == "DirectoryOrCreate" else 0o644)


async def test_each_type_takes_its_own_kind_of_file_and_no_other(manager, tmp_path):
    (tmp_path / "dir").mkdir()
    (tmp_path / "file").write_text("")
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(tmp_path / "sock"))
    found = {
        "Directory": tmp_path / "dir",
        "File": tmp_path / "file",
        "Socket": tmp_path / "sock",
        "CharDevice": "/dev/null",
    }
    async with manager:
        for kind in (*found, "BlockDevice"):
            for other, path in found.items():
                volume = {"name": "h", "hostPath": {"path": str(path), "type": kind}}
                answer = await manager.deliver(MountVolumes(UID, pod(volume)))
                assert isinstance(answer, VolumesMounted if kind == other else VolumesFailed)
    listener.close()


async def test_a_host_path_of_the_wrong_type_is_reported_with_the_volumes_name(manager, tmp_path):
    async with manager:
        answer = await manager.deliver(
            MountVolumes(UID, pod({"name": "h", "hostPath": {"path": f"{tmp_path}/none", "type": "Directory"}}))
        )

    text = f'MountVolume.SetUp failed for volume "h" : hostPath type check failed: {tmp_path}/none is not a directory'
    assert answer == VolumesFailed(UID, text, ["h"], [], [VolumeEvent("FailedMount", text)])


@pytest.mark.parametrize(
    ("volume", "text"),
    [
        ({"awsElasticBlockStore": {"volumeID": "x"}}, "ebs.csi.aws.com"),
        ({"gitRepo": {"repository": "x"}}, "CVE-2024-10220"),
        *(({removed: {}}, f"source {removed} was removed") for removed in REMOVED),
        ({"iscsi": {"targetPortal": "1.2.3.4", "iqn": "iqn"}}, "iscsi: iqn: 'iqn' is not a name of the form iqn"),
        ({"fc": {"targetWWNs": ["../x"], "lun": 1}}, "fc: targetWWN '../x' is none"),
        ({"secret": {"secretName": "s"}}, "not joined an API server"),
        ({"csi": {"driver": "d"}}, "has not joined an API server"),
        ({}, "no source"),
        ({"hostPath": {"path": "/a/../b"}}, r"'..'"),
        ({"hostPath": {"path": "/a", "type": "Folder"}}, "unknown hostPath type"),
        ({"emptyDir": {"medium": "Tape"}}, "unknown storage medium"),
    ],
)
async def test_an_unsupported_source_is_finally_refused_by_name(manager, tmp_path, volume, text):
    async with manager:
        answer = await manager.deliver(
            MountVolumes(UID, pod({"name": "good", "emptyDir": {}}, {"name": "strange", **volume}))
        )

    assert isinstance(answer, VolumesFailed)
    assert answer.volumes == ["strange"]
    assert text in answer.message
    assert "'strange'" in answer.message
    assert not (tmp_path / "pods" / UID).exists()  # nothing was begun


async def test_a_volume_that_no_container_uses_is_not_mounted(manager, tmp_path):
    used, unused = {"name": "used", "emptyDir": {}}, {"name": "unused", "secret": {"secretName": "missing"}}
    async with manager:
        answer = await manager.deliver(MountVolumes(UID, pod(used, unused, containers=[user_of([used])])))

    assert answer == VolumesMounted(UID, {"used": f"{tmp_path}/pods/{UID}/volumes/kubernetes.io~empty-dir/used"})


async def test_an_image_volume_is_left_to_the_runtime(manager):
    async with manager:
        assert await manager.deliver(
            MountVolumes(UID, pod({"name": "i", "image": {"reference": "x"}}))
        ) == VolumesMounted(UID, {})


@pytest.mark.parametrize("uid", ["..", "a/b", "", "-rf"])
async def test_a_uid_that_is_a_path_is_refused(manager, uid):
    async with manager:
        assert isinstance(await manager.deliver(MountVolumes(uid, pod())), VolumesFailed)
        assert isinstance(await manager.deliver(UnmountVolumes(uid)), VolumesFailed)


async def test_a_hanging_volume_takes_one_process_and_delays_no_other_pod(manager):
    manager.disposables["actors.volume_manager.host.host_path:check_host_path"] = DisposableTimeout("Timeout", "")
    stuck = pod({"name": "h", "hostPath": {"path": "/mnt/dead", "type": "Directory"}})
    async with manager:
        first = await manager.deliver(MountVolumes(UID, stuck))
        again = await manager.deliver(MountVolumes(UID, stuck))
        other = await manager.deliver(MountVolumes("other", pod({"name": "data", "emptyDir": {}})))
        await manager.advance(61)
        await manager.deliver(MountVolumes(UID, stuck))

    assert "did not answer" in first.message
    assert "tried again" in again.message
    assert isinstance(other, VolumesMounted)
    assert len(manager.disposed) == 2


async def test_unmounting_removes_the_data_and_answers_again_the_same(manager, tmp_path):
    async with manager:
        await manager.deliver(MountVolumes(UID, pod({"name": "data", "emptyDir": {}})))
        assert await manager.deliver(UnmountVolumes(UID)) == VolumesUnmounted(UID)
        assert await manager.deliver(UnmountVolumes(UID)) == VolumesUnmounted(UID)

    assert not (tmp_path / "pods" / UID).exists()


async def test_unmounting_leaves_what_others_keep_for_the_pod(manager, tmp_path):
    async with manager:
        await manager.deliver(MountVolumes(UID, pod({"name": "data", "emptyDir": {}})))
        hosts = tmp_path / "pods" / UID / "etc-hosts"
        hosts.write_text("")
        await manager.deliver(UnmountVolumes(UID))

    assert os.listdir(tmp_path / "pods" / UID) == ["etc-hosts"]


async def test_a_volume_with_many_files_is_removed_by_its_own_process(manager):
    async with manager:
        answer = await manager.deliver(MountVolumes(UID, pod({"name": "data", "emptyDir": {}})))
        for number in range(FEW_FILES):
            open(f"{answer.paths['data']}/{number}", "x").close()
        assert await manager.deliver(UnmountVolumes(UID)) == VolumesUnmounted(UID)

    assert [function.rpartition(":")[2] for function, _ in manager.disposed] == ["remove_volumes"]


async def test_a_failed_removal_is_reported_and_can_be_repeated(manager, monkeypatch):
    monkeypatch.setattr(teardown, "have_few_files", lambda directories: False)
    manager.disposables["actors.volume_manager.host.unmounts:remove_volumes"] = DisposableError(
        "OSError", "disk on fire"
    )
    async with manager:
        await manager.deliver(MountVolumes(UID, pod({"name": "data", "emptyDir": {}})))
        assert await manager.deliver(UnmountVolumes(UID)) == VolumesFailed(UID, "disk on fire")
        manager.disposables.clear()
        assert await manager.deliver(UnmountVolumes(UID)) == VolumesUnmounted(UID)
        samples = manager.actor.metrics.snapshot("volume_manager", 1).samples
    outcomes = [
        one.labels["status"]
        for one in samples
        if one.name == "storage_operation_duration_seconds" and one.labels["operation_name"] == "volume_unmount"
    ]
    assert sorted(outcomes) == ["fail-unknown", "success"]


async def test_sub_paths_need_their_volume_mounted_first(manager):
    async with manager:
        answer = await manager.deliver(BindSubPaths(UID, "c", [SubPath("data", "x", 0)]))

    assert isinstance(answer, VolumesFailed)
    assert "MountVolumes" in answer.message


async def test_sub_paths_of_volumes_from_before_a_restart_are_found_by_the_pod_that_comes_along(manager, tmp_path):
    bound = "actors.volume_manager.host.subpaths:bind_subpath"
    manager.disposables[bound] = lambda **_: None
    data = pod({"name": "h", "hostPath": {"path": "/etc"}})
    async with manager:
        answer = await manager.deliver(BindSubPaths(UID, "c", [SubPath("h", "x", 2)], data))
        broken = await manager.deliver(BindSubPaths("other", "c", [SubPath("h", "x", 2)], b"{"))

    target = f"{tmp_path}/pods/{UID}/volume-subpaths/h/c/2"
    assert answer == SubPathsBound(UID, "c", {2: target})
    assert manager.disposed == [(bound, {"volume": "/etc", "path": "x", "target": target, "follow": True})]
    assert isinstance(broken, VolumesFailed)


async def test_the_error_of_a_sub_path_reveals_nothing_of_the_hosts_files(manager):
    def refuse(**_: object) -> None:
        raise OSError(18, "Invalid cross-device link", "/etc/hidden")

    manager.disposables["actors.volume_manager.host.subpaths:bind_subpath"] = refuse
    data = pod({"name": "h", "hostPath": {"path": "/etc"}})
    async with manager:
        answer = await manager.deliver(BindSubPaths(UID, "c", [SubPath("h", "x", 2)], data))

    assert isinstance(answer, VolumesFailed)
    assert answer.message == 'failed to prepare subPath for volumeMount "h" of container "c"'


def orphan(root, uid="dead"):
    data = root / "pods" / uid / "volumes/kubernetes.io~empty-dir/data"
    data.mkdir(parents=True)
    (data / "file").write_text("x")
    return root / "pods" / uid


async def test_an_orphan_is_removed_after_every_worker_has_reported_and_a_grace_period(manager, tmp_path):
    directory = orphan(tmp_path)
    async with manager:
        await manager.advance(300)
        await manager.deliver(ShardPods("pod_workers/worker/0", 2, []))
        await manager.advance(300)
        assert directory.exists()

        await manager.deliver(ShardPods("pod_workers/worker/1", 2, ["alive"]))
        await manager.advance(9)
        assert directory.exists()
        await manager.advance(2)
        assert not directory.exists()


async def test_orphans_are_looked_for_again_after_the_directory_of_pods_could_not_be_read(
    manager, tmp_path, monkeypatch, caplog
):
    def fail(_):
        raise OSError(errno.EIO, "Input/output error")

    directory = orphan(tmp_path)
    async with manager:
        with monkeypatch.context() as patch:
            patch.setattr(os, "scandir", fail)
            for worker in range(2):
                await manager.deliver(ShardPods(f"pod_workers/worker/{worker}", 2, []))
            await manager.advance(200)
        assert sum("looked for later" in record.message for record in caplog.records) == 1
        assert directory.exists()
        await manager.advance(200)
        assert not directory.exists()


@pytest.mark.parametrize("unreadable", ["listdir", "mount table"])
async def test_volumes_that_cannot_be_looked_at_are_an_error_of_the_pod_and_unmounted_later(
    manager, monkeypatch, unreadable
):
    def fail(*_):
        raise OSError(errno.EMFILE, "Too many open files")

    async with manager:
        await manager.deliver(MountVolumes(UID, pod({"name": "data", "emptyDir": {}})))
        with monkeypatch.context() as patch:
            if unreadable == "listdir":
                patch.setattr(os, "listdir", fail)
            else:
                patch.setattr(mountinfo, "read_below", fail)
            answer = await manager.deliver(UnmountVolumes(UID))
            assert isinstance(answer, VolumesFailed)
            assert "Too many open files" in str(answer)
        assert await manager.deliver(UnmountVolumes(UID)) == VolumesUnmounted(UID)


async def test_a_known_pod_keeps_its_directory(manager, tmp_path):
    directory = orphan(tmp_path, "alive")
    async with manager:
        for worker in range(2):
            await manager.deliver(ShardPods(f"pod_workers/worker/{worker}", 2, ["alive"] if worker else []))
        await manager.advance(600)

    assert (directory / "volumes/kubernetes.io~empty-dir/data/file").read_text() == "x"


async def test_a_pod_being_created_is_no_orphan_before_its_worker_has_reported(manager, tmp_path):
    async with manager:
        for worker in range(2):
            await manager.deliver(ShardPods(f"pod_workers/worker/{worker}", 2, []))
        await manager.deliver(MountVolumes(UID, pod({"name": "data", "emptyDir": {}})))
        await manager.advance(600)

    assert (tmp_path / "pods" / UID).exists()


async def slow_mount(manager, known):
    """Of a pod whose worker told of `known` while the node's memory was awaited."""
    for worker in range(2):
        await manager.deliver(ShardPods(f"pod_workers/worker/{worker}", 2, []))
    answered = asyncio.Event()

    async def answer(question):
        await answered.wait()
        return NodeResources({}, {"memory": 1 << 30}, {}, 0, "cgroupfs", 2)

    manager.answer(GetNodeResources, answer, name="container_manager")
    volumes = {"name": "m", "emptyDir": {"medium": "Memory"}}, {"name": "d", "emptyDir": {}}
    mounting = manager.post(MountVolumes(UID, pod(*volumes)))
    await manager.settle()
    for worker, uids in known:
        await manager.deliver(ShardPods(f"pod_workers/worker/{worker}", 2, uids))
    answered.set()
    return await mounting


async def test_a_mount_for_a_dead_worker_is_removed_when_the_next_one_does_not_have_the_pod(manager, tmp_path):
    async with manager:
        await slow_mount(manager, [(OWN, [UID]), (OWN, [])])
        assert (tmp_path / "pods" / UID).exists()
        await manager.advance(80)

        assert not (tmp_path / "pods" / UID).exists()


async def test_a_mount_that_is_requested_again_stays(manager, tmp_path):
    async with manager:
        await slow_mount(manager, [(OWN, [])])
        await manager.deliver(MountVolumes(UID, pod({"name": "d", "emptyDir": {}})))
        await manager.advance(600)

    assert (tmp_path / "pods" / UID).exists()


@pytest.mark.parametrize("known", [[], [(1 - OWN, [])], [(OWN, [UID])]])
async def test_a_slow_mount_stays_unless_its_own_worker_reports_without_the_pod(manager, tmp_path, known):
    async with manager:
        assert isinstance(await slow_mount(manager, known), VolumesMounted)
        await manager.advance(600)

    assert (tmp_path / "pods" / UID).exists()


async def test_an_orphan_that_cannot_be_removed_is_logged_once_and_retried_each_minute(manager, tmp_path, caplog):
    orphan(tmp_path)
    manager.disposables["actors.volume_manager.host.unmounts:remove_pod_dir"] = DisposableError("OSError", "busy")
    async with manager:
        for worker in range(2):
            await manager.deliver(ShardPods(f"pod_workers/worker/{worker}", 2, []))
        await manager.advance(310)

    assert sum("orphaned pod dead" in record.message for record in caplog.records) == 1
    assert len(manager.disposed) >= 5


async def unremoved(manager):
    """The orphans that the last sweep could not remove, as the metrics say."""
    snapshot = await manager.deliver(GetMetrics())
    (found,) = (each.value for each in snapshot.samples if each.name == "kubelet_orphan_pod_cleaned_volumes_errors")
    return found


async def test_an_orphan_that_another_process_removes_is_no_error_any_more(manager, tmp_path):
    directory = orphan(tmp_path)
    manager.disposables["actors.volume_manager.host.unmounts:remove_pod_dir"] = DisposableError("OSError", "busy")
    async with manager:
        for worker in range(2):
            await manager.deliver(ShardPods(f"pod_workers/worker/{worker}", 2, []))
        await manager.advance(200)
        assert await unremoved(manager) == 1
        shutil.rmtree(directory)
        await manager.advance(70)
        assert await unremoved(manager) == 0


async def test_no_volume_counts_as_mounted_of_a_pod_with_one_that_is_refused(manager):
    refused = {"name": "odd", "emptyDir": {"medium": "Tape"}}
    async with manager:
        answer = await manager.deliver(MountVolumes(UID, pod({"name": "data", "emptyDir": {}}, refused)))
        assert isinstance(answer, VolumesFailed)
        snapshot = await manager.deliver(GetMetrics())
    counts = {each.labels["state"]: each.value for each in snapshot.samples if each.name == TOTAL}
    assert counts == {"desired_state_of_world": 1, "actual_state_of_world": 0}
