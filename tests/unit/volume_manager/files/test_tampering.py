"""Volumes of files that a privileged container has laid hands on: they become right again, and nobody hangs on them."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from actors.volume_manager.files import atomic
from actors.volume_manager.files.downward_fields import File

FILES = [File(path="a", data=b"one", mode=0o644), File(path="sub/b", data=b"two", mode=0o600)]


def data(volume: Path) -> Path:
    return volume / os.readlink(volume / atomic.DATA)


def fifo(volume: Path) -> None:
    (data(volume) / "a").unlink()
    os.mkfifo(data(volume) / "a", 0o644)


def outside(volume: Path) -> None:
    (volume / atomic.DATA).unlink()
    (volume / atomic.DATA).symlink_to("/")


def linked_file(volume: Path) -> None:
    (volume.parent / "other").write_bytes(b"one")
    (data(volume) / "a").unlink()
    (data(volume) / "a").symlink_to(volume.parent / "other")


def linked_name(volume: Path) -> None:
    (volume / "a").unlink()
    (volume / "a").symlink_to("/etc/shadow")


def directories(volume: Path) -> None:
    (volume / "a").unlink()
    for name in ("a", "..data_tmp"):
        (volume / name / "below").mkdir(parents=True)


def more(volume: Path) -> None:
    (data(volume) / "sub" / "c").write_text("three")


def deep(volume: Path) -> None:
    current = os.open(data(volume), os.O_RDONLY)
    for _ in range(1500):
        os.mkdir("d", dir_fd=current)
        deeper = os.open("d", os.O_RDONLY, dir_fd=current)
        os.close(current)
        current = deeper
    os.close(current)


@pytest.mark.parametrize("tamper", [fifo, outside, linked_file, linked_name, directories, more, deep])
async def test_a_volume_is_repaired_by_the_next_write(tmp_path, tamper: Callable[[Path], None]):
    volume = tmp_path / "volume"
    volume.mkdir()
    assert await atomic.write(str(volume), FILES, "..1", None)
    assert not await atomic.write(str(volume), FILES, "..2", None)
    tamper(volume)
    await atomic.write(str(volume), FILES, "..3", None)
    assert sorted(name for name in os.listdir(volume) if not name.startswith("..")) == ["a", "sub"]
    assert (volume / "a").read_bytes() == b"one"
    assert (volume / "sub" / "b").read_bytes() == b"two"
    assert os.readlink(volume / "a") == "..data/a"
    assert sorted(os.listdir(data(volume) / "sub")) == ["b"]
    assert (data(volume) / "a").lstat().st_nlink == 1
    assert not (data(volume) / "a").is_symlink()
