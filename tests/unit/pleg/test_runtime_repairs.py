"""What the log says of containers that run and that the runtime does not list."""

from __future__ import annotations

import asyncio
import logging
import os
from types import SimpleNamespace
from typing import Any

import pytest

from actors.pleg import runtime_repairs
from actors.pleg.runtime_repairs import ROOM_BYTES, ROOM_INODES, RuntimeRepairs, free_bytes


@pytest.mark.parametrize(
    ("managed", "free", "remedy"),
    [
        (True, ROOM_BYTES - 1, "its disk is full"),
        (False, ROOM_BYTES - 1, "its disk is full"),
        (False, ROOM_BYTES, "restart the runtime once its disk has room"),
    ],
)
def test_the_warning_names_the_full_disk_or_what_the_operator_can_do(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, managed: bool, free: int, remedy: str
) -> None:
    monkeypatch.setattr(runtime_repairs, "free_bytes", lambda directory: free)
    actor: Any = SimpleNamespace(log=logging.getLogger("pleg"))
    agent: Any = SimpleNamespace(managed_runtime=managed, root_dir="/")
    asyncio.run(RuntimeRepairs(actor, agent).unlisted("default/web", ["a", "b"]))
    (record,) = caplog.records
    assert record.getMessage() == f"default/web: 2 containers run that the runtime does not list: {remedy}"


@pytest.mark.parametrize(
    ("files", "free_inodes", "room"),
    [(1000, ROOM_INODES - 1, False), (1000, ROOM_INODES, True), (0, 0, True)],
)
def test_a_disk_without_free_inodes_has_no_room(
    monkeypatch: pytest.MonkeyPatch, files: int, free_inodes: int, room: bool
) -> None:
    disk = SimpleNamespace(f_bavail=ROOM_BYTES, f_frsize=1, f_files=files, f_favail=free_inodes)
    monkeypatch.setattr(os, "statvfs", lambda directory: disk)
    assert (free_bytes("/") >= ROOM_BYTES) is room
