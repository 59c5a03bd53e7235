"""Mount points of other volumes in volumes of files."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from actors.shared.kube.codec import decode_pod
from actors.shared.linux.confined_paths import UnsafePathError
from actors.volume_manager.files import atomic
from actors.volume_manager.files.downward_fields import File
from actors.volume_manager.files.mount_points import MAX_FOLDERS, nested

FILES = [File(path="a", data=b"one", mode=0o644)]


def points(*mounts: tuple[str, str], field: str = "containers") -> list[str]:
    container = {
        "name": "c",
        "image": "i",
        "volumeMounts": [{"name": name, "mountPath": path} for name, path in mounts],
    }
    spec: dict[str, Any] = {"containers": [{"name": "other", "image": "i"}], field: [container]}
    return nested(decode_pod(json.dumps({"metadata": {"name": "p"}, "spec": spec}).encode()), "v")


def test_another_volume_below_the_volume_has_a_mount_point() -> None:
    assert points(("v", "/etc/app"), ("w", "/etc/app/conf.d")) == ["conf.d"]


@pytest.mark.parametrize("field", ["initContainers", "containers", "ephemeralContainers"])
def test_containers_of_every_kind_count(field: str) -> None:
    assert points(("w", "/v/sub/deep/"), ("v", "/v/"), field=field) == ["sub/deep"]


def test_a_mount_below_another_mount_needs_no_mount_point() -> None:
    paths = ["/v", "/v/a", "/v/a-b", "/v/a/b", "/v/ab"]
    assert points(*((path, path) for path in paths[1:]), ("v", "/v")) == ["a", "a-b", "ab"]


def test_a_path_with_only_a_common_prefix_is_no_mount_point() -> None:
    assert points(("v", "/v"), ("w", "/very"), ("x", "/"), ("y", "/v/..data")) == []


async def test_mount_points_outlive_changes_of_the_files(tmp_path: Path) -> None:
    assert await atomic.write(str(tmp_path), FILES, "..1", None, ["conf.d", "sub/deep"])
    first = os.stat(tmp_path / "conf.d").st_ino
    assert not await atomic.write(str(tmp_path), FILES, "..2", None, ["conf.d", "sub/deep"])
    assert await atomic.write(str(tmp_path), [File("a", b"two", 0o644)], "..3", None, ["conf.d", "sub/deep"])
    assert (tmp_path / "a").read_bytes() == b"two"
    assert (tmp_path / "sub" / "deep").is_dir()
    assert os.stat(tmp_path / "conf.d").st_ino == first  # a removed one would take the mounts of containers along
    assert stat.S_IMODE(os.stat(tmp_path / "conf.d").st_mode) == 0o755


async def test_a_file_of_the_volume_wins_over_a_mount_point(tmp_path: Path) -> None:
    await atomic.write(str(tmp_path), FILES, "..1", None, ["a"])
    assert (tmp_path / "a").read_bytes() == b"one"


async def test_a_removed_file_is_replaced_by_the_mount_point(tmp_path: Path) -> None:
    await atomic.write(str(tmp_path), [*FILES, File("b", b"", 0o644)], "..1", None, ["b"])
    await atomic.write(str(tmp_path), FILES, "..2", None, ["b"])
    assert (tmp_path / "b").is_dir()
    assert not (tmp_path / "b").is_symlink()


async def test_a_link_out_of_the_volume_is_not_followed(tmp_path: Path) -> None:
    volume, outside = tmp_path / "volume", tmp_path / "outside"
    volume.mkdir()
    outside.mkdir()
    (volume / "sub").symlink_to(outside)
    await atomic.write(str(volume), FILES, "..1", None, ["sub/deep"])
    assert (volume / "sub" / "deep").is_dir()
    assert list(outside.iterdir()) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="changes a group")
async def test_mount_points_belong_to_the_group_of_the_volume(tmp_path: Path) -> None:
    await atomic.write(str(tmp_path), FILES, "..1", 4321, ["sub/deep"])
    for path in (tmp_path / "sub", tmp_path / "sub" / "deep"):
        about = path.stat()
        assert (about.st_gid, stat.S_IMODE(about.st_mode)) == (4321, 0o2755)


@pytest.mark.parametrize("folders", [MAX_FOLDERS, 2000])
async def test_a_path_with_too_many_folders_is_refused_without_delay(tmp_path: Path, folders: int) -> None:
    path = "/".join(["a"] * folders + ["b"])
    with pytest.raises(UnsafePathError, match="more than 64 folders"):
        await atomic.write(str(tmp_path), [File(path=path, data=b"", mode=0o644)], "..1", None)
    with pytest.raises(UnsafePathError, match="more than 64 folders"):
        await atomic.write(str(tmp_path), FILES, "..2", None, [path.replace("a", "x", 1)])
    assert await atomic.write(str(tmp_path), [File(path.removeprefix("a/")[-127:], b"", 0o644)], "..3", None)
