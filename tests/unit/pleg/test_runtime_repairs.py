"""Containers that run and that the runtime does not list: what the log says, and when the runtime is restarted."""

from __future__ import annotations

import asyncio
import logging
import os
from types import SimpleNamespace
from typing import Any

import pytest

from actors.pleg import runtime_repairs
from actors.pleg.runtime_repairs import ROOM_BYTES, ROOM_INODES, RuntimeRepairs, free_bytes
from actors.pleg.runtime_restarts import PAUSES


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


class Node:
    """`restarts`: how often the runtime was restarted. `seconds`: the time, `free`: bytes of the disk."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, managed: bool = True) -> None:
        self.restarts, self.seconds, self.free = 0, 1000.0, 0
        self.swept: tuple[list[str], list[str], list[str]] = ([], [], [])
        monkeypatch.setattr(runtime_repairs, "free_bytes", lambda directory: self.free)
        clock = SimpleNamespace(monotonic=lambda: self.seconds, time=lambda: 0.0)
        monkeypatch.setattr(runtime_repairs, "time", clock)

        async def disposable(function: str, arguments: object, deadline: float) -> object:
            return self.swept

        async def restart() -> None:
            self.restarts += 1

        actor: Any = SimpleNamespace(log=logging.getLogger("pleg"), disposable=disposable)
        agent: Any = SimpleNamespace(managed_runtime=managed, root_dir="/", runtime_endpoint="unix:///s")
        self.repairs = RuntimeRepairs(actor, agent)
        monkeypatch.setattr(self.repairs, "restart", restart)


async def test_containers_that_the_runtime_lists_again_are_no_reason_for_a_restart(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    node = Node(monkeypatch)
    await node.repairs.unlisted("default/web", ["a"])
    node.free = ROOM_BYTES
    await node.repairs.look(frozenset("ab"))
    node.seconds += PAUSES.limit
    await node.repairs.look(frozenset("ab"))
    assert node.restarts == 0


async def test_unlisted_containers_are_loaded_not_before_the_pause_is_over_and_at_its_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    node = Node(monkeypatch)
    node.free = ROOM_BYTES
    await node.repairs.unlisted("default/web", ["a"])
    await node.repairs.unlisted("default/web", ["b"])
    await node.repairs.look(frozenset())
    assert node.restarts == 1, "the second report is within the pause"
    node.seconds += PAUSES.first
    await node.repairs.look(frozenset())
    assert node.restarts == 2


@pytest.mark.parametrize("managed", [True, False])
async def test_shims_of_unlisted_containers_that_run_are_a_reason_to_restart_a_managed_runtime(
    monkeypatch: pytest.MonkeyPatch, managed: bool
) -> None:
    node = Node(monkeypatch, managed=managed)
    node.free = ROOM_BYTES
    await node.repairs.sweep_shims(frozenset(), 0.0)
    assert node.restarts == 0
    node.swept = ([], ["a"], [])
    await node.repairs.sweep_shims(frozenset(), 0.0)
    assert node.restarts == int(managed)
