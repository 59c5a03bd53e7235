"""Devices of a pod that a kubelet has started: released here before its driver is asked."""

from __future__ import annotations

from pathlib import Path

import pytest

from actors.shared.config.agent import Agent
from actors.volume_manager.actor import VolumeManager
from actors.volume_manager.host import mount_propagation
from actors.volume_manager.messages import UnmountVolumes, VolumesFailed, VolumesUnmounted
from supervision.testing.harness import Harness

UID = "u-1"
_UNMAP = "actors.volume_manager.host.mapped_devices:unmap"


@pytest.mark.parametrize("error", [None, OSError(16, "Device or resource busy")])
async def test_devices_are_released_before_the_pod_has_no_volumes_any_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: OSError | None
) -> None:
    monkeypatch.setattr(mount_propagation, "make_shared", lambda path: False)
    context = Agent(root_dir=str(tmp_path), run_dir=f"{tmp_path}/run", workers=1)
    manager = Harness(VolumeManager, name="volume_manager", context=context)
    link = tmp_path / "pods" / UID / "volumeDevices/kubernetes.io~csi/pv.a"
    path = tmp_path / "plugins/kubernetes.io/csi/volumeDevices/pv.a/dev" / UID
    path.parent.mkdir(parents=True)
    path.touch()

    def unmap(paths: list[str]) -> None:
        assert paths == [str(path)]
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
