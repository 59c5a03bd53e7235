"""What of a pod is unmounted, and many pods that end at once."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from actors.shared.config.agent import Agent
from actors.shared.linux import mountinfo
from actors.shared.linux.mountinfo import Mount
from actors.volume_manager.teardown import Teardown


async def test_between_two_looks_at_the_mount_table_others_are_served(monkeypatch: pytest.MonkeyPatch) -> None:
    served = 0
    at: list[int] = []

    async def others() -> None:
        nonlocal served
        while True:
            served += 1
            await asyncio.sleep(0)

    def read_below(directory: str) -> list[Mount]:
        at.append(served)
        return []

    monkeypatch.setattr(mountinfo, "read_below", read_below)
    nothing: Any = None
    ending = Teardown(nothing, Agent(root_dir="/nowhere"), nothing)
    task = asyncio.ensure_future(others())
    await asyncio.gather(*(ending.mounts(f"/pods/{number}") for number in range(100)))
    task.cancel()
    assert len(set(at)) == 100


def mount(point: str) -> Mount:
    return Mount(1, 0, "0:1", "/", point, (), (), "tmpfs", "tmpfs", ())


@pytest.mark.parametrize(
    ("without", "found"),
    [
        ((), ["/nowhere/pods/u/volumes/a", "/nowhere/pods/u/volumes/csi/b"]),
        (("/csi/",), ["/nowhere/pods/u/volumes/a"]),
        (("/csi/", "/a"), []),
    ],
)
async def test_the_mounts_of_a_pod_are_all_below_but_the_pods_directory_and_those_of_types_with_their_own_teardown(
    monkeypatch: pytest.MonkeyPatch, without: tuple[str, ...], found: list[str]
) -> None:
    points = ["/nowhere/pods", "/nowhere/pods/u/volumes/a", "/nowhere/pods/u/volumes/csi/b"]
    monkeypatch.setattr(mountinfo, "read_below", lambda directory: [mount(point) for point in points])
    nothing: Any = None
    ending = Teardown(nothing, Agent(root_dir="/nowhere"), nothing)
    assert await ending.mounts("/nowhere/pods", without=without) == found


async def test_volumes_that_cannot_be_looked_for_are_not_taken_for_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mountinfo, "read_below", lambda directory: [])
    pod = tmp_path / "pods/u"
    pod.parent.mkdir()
    pod.symlink_to(pod)
    nothing: Any = None
    assert "Too many levels" in await Teardown(nothing, Agent(root_dir=str(tmp_path)), nothing).volumes("u")
