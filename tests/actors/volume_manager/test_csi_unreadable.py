"""Records of CSI volumes that are there and cannot be read (no free descriptor, a disk with errors): what they say may
be in use, so nothing is undone, and the attach controller is told of it all the while."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from actors.volume_manager.csi.api_objects import DriverSpec
from tests.actors.volume_manager.csi_storage import NAME, Node, Storage


@contextmanager
def unreadable(path: Path) -> Iterator[None]:
    """A link to itself: reading it fails, for root too."""
    kept = path.with_name(f"kept-{path.name}")
    path.rename(kept)
    path.symlink_to(path)
    try:
        yield
    finally:
        path.unlink()
        kept.rename(path)


def record(node: Node) -> Path:
    return Path(node.root, "pods/u/volumes/kubernetes.io~csi/pv/vol_data.json")


PLACES = ["pods", "pods/u/volumes/kubernetes.io~csi", "pods/u/volumes/kubernetes.io~csi/pv/vol_data.json"]


@pytest.mark.parametrize("place", PLACES)
async def test_a_volume_is_not_unstaged_while_it_cannot_be_seen_who_uses_it(
    node: Node, storage: Storage, place: str
) -> None:
    async with node.harness:
        storage.spec = DriverSpec()
        assert await node.mount() == ""
        with unreadable(Path(node.root, place)):
            await node.mounting.sweep()
            later = Node(node.root, storage)
            async with later.harness:
                later.mounting.start()
                await later.harness.settle()
        assert "unstage" not in storage.calls
        assert node.in_use() == [NAME]


async def test_a_volume_whose_record_cannot_be_read_is_unpublished_once_it_can(node: Node, storage: Storage) -> None:
    async with node.harness:
        storage.spec = DriverSpec()
        assert await node.mount() == ""
        with unreadable(record(node)), pytest.raises(OSError, match="Too many levels"):
            await node.unmount()
        assert "unpublish" not in storage.calls
        assert await node.unmount() == ""
        assert storage.calls[-2:] == ["unpublish", "unstage"]


async def test_a_volume_that_is_published_stays_so_while_its_record_cannot_be_read(
    node: Node, storage: Storage
) -> None:
    async with node.harness:
        assert await node.mount() == ""
        calls = [*storage.calls]
        with unreadable(record(node)):
            assert "Too many levels" in await node.mount()
        assert storage.calls == calls
        assert await node.unmount() == ""
        assert storage.calls[-2:] == ["unpublish", "unstage"]
