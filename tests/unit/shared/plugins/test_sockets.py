"""Registration sockets are found, and a change below the directory is seen."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import socket
from pathlib import Path

import pytest
from inotify_simple import INotify

from actors.shared.plugins import sockets
from actors.shared.plugins.sockets import MOST_DIRECTORIES, FolderWatch, look


def make(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(path))


def test_only_sockets_are_plugins_and_hidden_ones_are_not(tmp_path: Path) -> None:
    for folder in ("deep", ".hidden"):
        (tmp_path / folder).mkdir()
    for name in ("a.sock", "deep/b.sock", ".hidden.sock", ".hidden/c.sock"):
        make(tmp_path / name)
    (tmp_path / "file").write_text("")
    found = look(str(tmp_path))
    assert sorted(found) == [f"{tmp_path}/a.sock", f"{tmp_path}/deep/b.sock"]
    os.unlink(tmp_path / "a.sock")
    make(tmp_path / "a.sock")
    assert look(str(tmp_path))[f"{tmp_path}/a.sock"] != found[f"{tmp_path}/a.sock"]
    assert look(f"{tmp_path}/none") == {}


async def test_a_socket_in_a_folder_that_came_later_is_seen_too(tmp_path: Path) -> None:
    changed = asyncio.Event()
    watch = FolderWatch(str(tmp_path), changed.set)
    try:
        assert watch.follow()
        (tmp_path / "deep").mkdir()
        await asyncio.wait_for(changed.wait(), 10)
        watch.follow()
        changed.clear()
        make(tmp_path / "deep" / "a.sock")
        await asyncio.wait_for(changed.wait(), 10)
    finally:
        watch.close()


async def test_a_directory_that_is_missing_is_not_watched(tmp_path: Path) -> None:
    watch = FolderWatch(f"{tmp_path}/none", lambda: None)
    try:
        assert not watch.follow()
        (tmp_path / "none").mkdir()
        assert watch.follow()
    finally:
        watch.close()


async def test_a_folder_for_which_the_kernel_has_no_watch_left_is_not_watched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "deep").mkdir()
    add = INotify.add_watch

    def only_the_first(self: INotify, path: str, mask: int) -> int:
        if path == f"{tmp_path}/deep":
            raise OSError(errno.ENOSPC, "no watch is left")
        return int(add(self, path, mask))

    watch = FolderWatch(str(tmp_path), lambda: None)
    try:
        with monkeypatch.context() as full:
            full.setattr(INotify, "add_watch", only_the_first)
            assert not watch.follow()
        assert watch.follow()
    finally:
        watch.close()


async def test_a_flood_of_directories_takes_few_watches_and_hides_no_socket_near_the_top(tmp_path: Path) -> None:
    (tmp_path / "flood").mkdir()
    for number in range(MOST_DIRECTORIES + 200):
        (tmp_path / "flood" / str(number)).mkdir()
    (tmp_path / "plugin").mkdir()
    make(tmp_path / "plugin" / "a.sock")
    told: list[str] = []
    assert list(look(str(tmp_path), lambda: told.append("more"))) == [f"{tmp_path}/plugin/a.sock"]
    assert told
    watch = FolderWatch(str(tmp_path), lambda: None)
    before = _watches()
    try:
        assert watch.follow()
        assert _watches() - before == MOST_DIRECTORIES
    finally:
        watch.close()


def test_no_more_than_the_most_entries_are_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sockets, "MOST_ENTRIES", 20)
    for number in range(30):
        make(tmp_path / str(number))
    told: list[str] = []
    assert len(look(str(tmp_path), lambda: told.append("more"))) == 20
    assert told == ["more"]


def _watches() -> int:
    """Of this process."""
    found = 0
    for each in Path("/proc/self/fdinfo").iterdir():
        with contextlib.suppress(OSError):
            found += sum(line.startswith("inotify") for line in each.read_text().splitlines())
    return found
