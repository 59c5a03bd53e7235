"""The mounts of emptyDir volumes with medium Memory and HugePages; the mounts themselves are recorded, not made."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from actors.shared.linux import huge_page_pools, mount_calls, mountinfo
from actors.volume_manager.host.memory_mounts import mount_huge_pages, mount_memory


class Mounts:
    """`made`: source, path, kind and options of each mount. `old_kernel`: it does not know the option noswap."""

    def __init__(self) -> None:
        self.made: list[tuple[str, str, str, str]] = []
        self.table: list[mountinfo.Mount] = []
        self.old_kernel = False

    def mount(self, source: str, target: str, kind: str = "", flags: int = 0, options: str = "") -> None:
        if self.old_kernel and "noswap" in options:
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL), target)
        self.made.append((source, target, kind, options))
        supers = tuple(options.split(","))
        self.table.append(mountinfo.Mount(1, 0, "0:1", "/", target, (), (), kind, source, supers))


@pytest.fixture
def mounts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Mounts:
    mounts = Mounts()
    monkeypatch.setattr(mount_calls, "mount", mounts.mount)
    monkeypatch.setattr(mountinfo, "at", lambda point: [mount for mount in mounts.table if mount.point == point])
    monkeypatch.setattr(huge_page_pools, "SYSTEM_POOLS", str(tmp_path / "hugepages"))
    (tmp_path / "hugepages" / "hugepages-2048kB").mkdir(parents=True)
    return mounts


@pytest.mark.parametrize(
    ("size", "group", "options"),
    [
        (0, None, "mode=1777,noswap"),
        (4096, None, "mode=1777,size=4096,noswap"),
        (4096, 7, "mode=3777,gid=7,size=4096,noswap"),
    ],
)
def test_memory_is_a_tmpfs_of_its_size_and_group_that_is_never_swapped(
    mounts: Mounts, tmp_path: Path, size: int, group: int | None, options: str
) -> None:
    path = str(tmp_path / "volume")
    assert mount_memory(path, size, group) is True
    assert mounts.made == [("tmpfs", path, "tmpfs", options)]
    assert mount_memory(path, size, group) is True
    assert len(mounts.made) == 1


def test_memory_may_be_swapped_where_the_kernel_lacks_noswap_and_that_is_reported_each_time(
    mounts: Mounts, tmp_path: Path
) -> None:
    mounts.old_kernel = True
    path = str(tmp_path / "volume")
    assert mount_memory(path, 0, None) is False
    assert mount_memory(path, 0, None) is False
    assert mounts.made == [("tmpfs", path, "tmpfs", "mode=1777")]


def test_another_error_of_a_mount_is_passed_on(mounts: Mounts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOMEM, os.strerror(errno.ENOMEM))

    monkeypatch.setattr(mount_calls, "mount", full)
    with pytest.raises(OSError, match=os.strerror(errno.ENOMEM)):
        mount_memory(str(tmp_path / "volume"), 0, None)


@pytest.mark.parametrize(("group", "mode"), [(None, "mode=0777"), (7, "mode=2777,gid=7")])
def test_huge_pages_are_a_hugetlbfs_of_their_size_and_group(
    mounts: Mounts, tmp_path: Path, group: int | None, mode: str
) -> None:
    path = str(tmp_path / "volume")
    assert mount_huge_pages(path, 2 << 20, group) is True
    assert mount_huge_pages(path, 2 << 20, group) is True
    assert mounts.made == [("nodev", path, "hugetlbfs", f"{mode},pagesize={2 << 20}")]
    assert Path(path).is_dir()


def test_huge_pages_of_a_size_that_the_node_lacks_are_refused(mounts: Mounts, tmp_path: Path) -> None:
    with pytest.raises(OSError, match="this node has no huge pages of 1073741824 bytes"):
        mount_huge_pages(str(tmp_path / "volume"), 1 << 30, None)
    assert mounts.made == []
    assert not (tmp_path / "volume").exists()
