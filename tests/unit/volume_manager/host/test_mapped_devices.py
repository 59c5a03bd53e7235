"""What a kubelet has left of the devices of a pod: which files and loop devices are the pod's."""

from __future__ import annotations

from pathlib import Path

import pytest

from actors.shared.config.agent import Agent
from actors.volume_manager.actor import VolumeManager
from actors.volume_manager.host.mapped_devices import loop_devices, mapped
from actors.volume_manager.messages import UnmountVolumes, VolumesFailed, VolumesUnmounted
from supervision.testing.harness import Harness

UID = "u-1"
CSI = "kubernetes.io/csi/volumeDevices/pv.a/dev"
LOCAL = "kubernetes.io~local-volume/volumeDevices/pv.b"
_UNMAP = "actors.volume_manager.host.mapped_devices:unmap"


def map_file(plugins: Path, directory: str, uid: str = UID) -> str:
    (plugins / directory).mkdir(parents=True, exist_ok=True)
    (plugins / directory / uid).touch()
    return str(plugins / directory / uid)


def test_the_devices_of_a_pod_are_found_by_its_uid(tmp_path: Path) -> None:
    assert mapped(str(tmp_path), UID) == []
    paths = [map_file(tmp_path, directory) for directory in (CSI, LOCAL)]
    map_file(tmp_path, CSI, "another")
    assert mapped(str(tmp_path), UID) == paths


def test_a_loop_device_is_found_by_its_file_also_when_that_was_removed(tmp_path: Path) -> None:
    for number, text in enumerate(("/dev/x/u-1\n", "/dev/x/u-1 (deleted)\n", "/dev/x/u-11\n", "")):
        (tmp_path / f"block/loop{number}/loop").mkdir(parents=True)
        (tmp_path / f"block/loop{number}/loop/backing_file").write_text(text)
    (tmp_path / "block/loop9").mkdir()
    assert loop_devices("/dev/x/u-1", str(tmp_path)) == ["/dev/loop0", "/dev/loop1"]


@pytest.mark.parametrize("error", [None, OSError(16, "Device or resource busy")])
async def test_devices_are_released_before_the_pod_has_no_volumes_any_more(
    tmp_path: Path, error: OSError | None
) -> None:
    context = Agent(root_dir=str(tmp_path), run_dir=f"{tmp_path}/run", workers=1)
    manager = Harness(VolumeManager, name="volume_manager", context=context)
    link = tmp_path / "pods" / UID / "volumeDevices/kubernetes.io~csi/pv.a"
    path = map_file(tmp_path / "plugins", CSI)

    def unmap(paths: list[str]) -> None:
        assert paths == [path]
        assert link.is_symlink()  # the driver was not asked yet
        if error is not None:
            raise error

    manager.disposables[_UNMAP] = unmap
    async with manager:
        link.parent.mkdir(parents=True)
        link.symlink_to("/dev/null")
        answer = await manager.deliver(UnmountVolumes(UID))

    assert manager.disposed[0][0] == _UNMAP
    if error is None:
        assert answer == VolumesUnmounted(UID)
    else:
        assert isinstance(answer, VolumesFailed)
        assert "busy" in answer.message
        assert link.is_symlink()
