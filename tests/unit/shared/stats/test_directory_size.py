"""How much pods have written, also where they write so that it is hard to count."""

from __future__ import annotations

import os
import tracemalloc
from itertools import count
from pathlib import Path
from types import SimpleNamespace

import pytest

from actors.shared.linux import confined_paths
from actors.shared.linux.removal import remove_tree
from actors.shared.stats import directory_size, disk
from actors.shared.stats.directory_size import DirectorySize


def measured(path: Path) -> DirectorySize:
    size = DirectorySize(str(path))
    for _ in size.parts():
        pass
    return size


@pytest.mark.parametrize("name", ["d" * 250, "é" * 120])
def test_a_file_below_a_path_that_the_kernel_does_not_take_at_once_is_counted(name: str, tmp_path: Path) -> None:
    levels = 30
    directory = os.open(tmp_path, os.O_RDONLY)
    for _ in range(levels):
        os.mkdir(name, dir_fd=directory)
        below = os.open(name, os.O_RDONLY, dir_fd=directory)
        os.close(directory)
        directory = below
    file = os.open("file", os.O_WRONLY | os.O_CREAT, dir_fd=directory)
    os.write(file, b"x" * 100_000)
    os.close(file)
    os.close(directory)
    size = measured(tmp_path)
    assert size.inodes_used == levels + 2
    assert size.used_bytes >= 100_000


@pytest.mark.parametrize("kernel", [True, False])
def test_a_link_that_takes_the_place_of_a_directory_is_not_followed(
    kernel: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(confined_paths, "has_openat2", lambda: kernel)
    monkeypatch.setattr(directory_size, "PART", 1)
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "much").write_bytes(b"x" * 1_000_000)
    volume = tmp_path / "volume"
    (volume / "inner").mkdir(parents=True)
    size = DirectorySize(str(volume))
    parts = size.parts()
    next(parts)
    (volume / "inner").rmdir()
    (volume / "inner").symlink_to(outside)
    assert list(parts) == []
    assert size.inodes_used == 2
    assert size.used_bytes < 1_000_000


def test_a_pod_with_more_files_than_can_be_counted_leaves_the_others_their_figures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(directory_size, "PART", 10)
    monkeypatch.setattr(directory_size, "PART_SECONDS", 3600)
    clock = count()
    monkeypatch.setattr(disk, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    for uid, files in (("greedy", 1000), ("modest", 5), ("other", 15)):
        volume = tmp_path / uid / "volumes/kubernetes.io~empty-dir/data"
        volume.mkdir(parents=True)
        for number in range(files):
            (volume / str(number)).touch()
    pods = [[uid, str(tmp_path / uid), str(tmp_path / "logs")] for uid in ("greedy", "modest", "other")]
    found = disk.measure_pods(pods, seconds=20)
    inodes = {uid: one["volumes"]["data"]["inodes_used"] for uid, one in found.items()}
    assert inodes["modest"] == 6
    assert inodes["other"] == 16
    assert 100 < inodes["greedy"] < 300


@pytest.mark.slow
def test_many_directories_at_the_end_of_a_long_path_take_little_memory(tmp_path: Path) -> None:
    """Each with its whole path, they would take a hundred times as much."""
    levels, wide, name = 200, 3000, "d" * 250
    directory = os.open(tmp_path, os.O_RDONLY)
    for _ in range(levels):
        os.mkdir(name, dir_fd=directory)
        below = os.open(name, os.O_RDONLY, dir_fd=directory)
        os.close(directory)
        directory = below
    for number in range(wide):
        os.mkdir(str(number), dir_fd=directory)
    os.close(directory)
    tracemalloc.start()
    try:
        size = measured(tmp_path)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
        remove_tree(str(tmp_path), keep_root=True)
    assert size.inodes_used == levels + wide + 1
    assert most < 10 << 20
