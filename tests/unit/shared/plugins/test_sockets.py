"""Registration sockets are found, and a change below the directory is seen."""

from __future__ import annotations

import asyncio
import errno
import os
import socket
from pathlib import Path

import pytest
from inotify_simple import INotify

from actors.shared.plugins.sockets import FolderWatch, look


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
