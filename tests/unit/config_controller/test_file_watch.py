"""The inotify descriptors of the configuration's files and of the lock file."""

from __future__ import annotations

import asyncio
import errno
import logging
from pathlib import Path
from typing import Any

import pytest

from actors.config_controller import file_watch
from actors.config_controller.file_watch import (
    POLL_SECONDS,
    UNWATCHED_POLL_SECONDS,
    ConfigFileWatch,
    LockFileWatch,
    SourceWatches,
)
from actors.shared.linux.inotify import Watcher


class RecordingActor:
    """It calls nothing later."""

    log = logging.getLogger("config_controller")

    def after(self, seconds: float, call: Any) -> Any:
        return None


class Made:
    """Every Watcher that is made; `fails` is raised in place of making one."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.watchers: list[Watcher] = []
        self._numbers: list[int] = []
        self.fails: OSError | None = None
        monkeypatch.setattr(file_watch, "Watcher", self._make)

    def _make(self) -> Watcher:
        if self.fails is not None:
            raise self.fails
        self.watchers.append(watcher := Watcher())
        self._numbers.append(watcher.fileno())
        return watcher

    def is_in_use(self, index: int) -> bool:
        """Whether the loop still reads it, or it is open."""
        if asyncio.get_running_loop().remove_reader(self._numbers[index]):
            return True
        try:
            self.watchers[index].fileno()
        except ValueError:
            return False
        return True


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Made:
    return Made(monkeypatch)


def watches(directory: Path) -> tuple[SourceWatches, list[str]]:
    """With a lock file `lock`; the list has what was noticed."""
    noticed: list[str] = []
    actor: Any = RecordingActor()
    lock = LockFileWatch(str(directory / "lock"), lambda: noticed.append("lock held"))
    return SourceWatches(actor, ConfigFileWatch(actor, lambda: noticed.append("changed")), lock), noticed


async def test_an_opened_lock_file_is_noticed_until_the_watches_are_closed(tmp_path: Path, made: Made) -> None:
    (tmp_path / "lock").touch()
    found, noticed = watches(tmp_path)
    for _ in range(2):
        found.watch([str(tmp_path)])
    (tmp_path / "lock").read_text()
    while not noticed:
        await asyncio.sleep(0)
    assert noticed == ["lock held"]
    found.close()
    assert len(made.watchers) == 2, "one descriptor each, however often they are told to watch"
    assert [made.is_in_use(index) for index in range(2)] == [False, False]
    (tmp_path / "lock").read_text()
    for _ in range(5):
        await asyncio.sleep(0)
    assert noticed == ["lock held"]


async def test_a_lock_file_that_cannot_be_watched_is_said_once_and_watched_when_it_can_be(
    tmp_path: Path, made: Made, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    found, noticed = watches(tmp_path)
    for _ in range(2):
        found.watch([str(tmp_path)])
    assert found.poll_seconds == UNWATCHED_POLL_SECONDS
    assert len([line for line in caplog.messages if "cannot be watched" in line]) == 1
    assert not made.is_in_use(1), "a descriptor that watches nothing is closed"
    (tmp_path / "lock").touch()
    found.watch([str(tmp_path)])
    assert found.poll_seconds == POLL_SECONDS
    assert caplog.messages[-1] == "the files of the configuration are watched again"
    (tmp_path / "lock").read_text()
    while not noticed:
        await asyncio.sleep(0)
    found.close()


async def test_without_a_lock_file_only_the_files_are_watched(tmp_path: Path, made: Made) -> None:
    actor: Any = RecordingActor()
    found = SourceWatches(actor, ConfigFileWatch(actor, lambda: None), None)
    found.close()  # before anything is watched
    found.watch([str(tmp_path)])
    assert found.poll_seconds == POLL_SECONDS
    found.close()
    assert [made.is_in_use(index) for index in range(len(made.watchers))] == [False]


async def test_without_an_inotify_instance_the_files_are_read_more_often(tmp_path: Path, made: Made) -> None:
    (tmp_path / "lock").touch()
    made.fails = OSError(errno.EMFILE, "Too many open files")
    found, _ = watches(tmp_path)
    found.watch([str(tmp_path)])
    assert found.poll_seconds == UNWATCHED_POLL_SECONDS
    made.fails = None
    found.watch([str(tmp_path)])
    assert found.poll_seconds == POLL_SECONDS
    found.close()
