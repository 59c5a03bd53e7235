"""A pod whose volumes end the volume manager again and again is left alone; the volumes of other pods are mounted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from actors.shared.config.agent import Agent
from actors.shared.input_quarantine import POLICY
from actors.volume_manager.actor import VolumeManager
from actors.volume_manager.host import mount_propagation
from actors.volume_manager.messages import (
    BindSubPaths,
    MountVolumes,
    SubPath,
    UnmountVolumes,
    VolumesFailed,
    VolumesMounted,
    VolumesUnmounted,
)
from actors.volume_manager.types.empty_dir import EmptyDir
from supervision.testing.harness import Harness
from tests.support.volumes import user_of


class Poison(Exception):
    """What the volumes of the bad pod raise."""


def pod(uid: str, **labels: str) -> bytes:
    volumes = [{"name": "data", "emptyDir": {}}]
    spec = {"volumes": volumes, "containers": [user_of(volumes)]}
    return json.dumps({"metadata": {"name": uid, "uid": uid, "labels": labels}, "spec": spec}).encode()


def started(root: Path) -> Harness[VolumeManager]:
    agent = Agent(root_dir=str(root), run_dir=f"{root}/run", workers=1)
    return Harness(VolumeManager, name="volume_manager", context=agent)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    set_up = EmptyDir.set_up

    async def poisoned(self, wanted, tools):
        if wanted.metadata.uid == "bad" and not wanted.metadata.labels:
            raise Poison
        return await set_up(self, wanted, tools)

    monkeypatch.setattr(mount_propagation, "make_shared", lambda path: False)
    monkeypatch.setattr(EmptyDir, "set_up", poisoned)
    return tmp_path


async def lives(home: Path, message: MountVolumes | BindSubPaths) -> None:
    async with started(home) as manager:
        assert isinstance(await manager.deliver(MountVolumes("good", pod("good"))), VolumesMounted)
        await manager.deliver(message)


async def dies(home: Path, message: MountVolumes | BindSubPaths) -> None:
    with pytest.raises(Poison):
        await lives(home, message)


@pytest.mark.parametrize(
    "message", [MountVolumes("bad", pod("bad")), BindSubPaths("bad", "c", [SubPath("data", "a", 0)], pod("bad"))]
)
async def test_after_three_deaths_a_pod_has_no_volumes_and_the_others_have(home, message):
    for _ in range(POLICY.crashes):
        await dies(home, message)
    async with started(home) as manager:
        answer = await manager.deliver(message)
        assert isinstance(answer, VolumesFailed)
        assert answer.uid == "bad"
        assert "volumes of this pod ended volume_manager 3 times" in answer.message
        assert isinstance(await manager.deliver(MountVolumes("good", pod("good"))), VolumesMounted)
        assert await manager.deliver(UnmountVolumes("bad")) == VolumesUnmounted("bad")


async def test_a_pod_that_changes_gets_a_new_chance(home):
    for _ in range(POLICY.crashes):
        await dies(home, MountVolumes("bad", pod("bad")))
    async with started(home) as manager:
        assert isinstance(await manager.deliver(MountVolumes("bad", pod("bad", mended="yes"))), VolumesMounted)
