"""Slices over a real bus, with a stand-in for systemd on it."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from actors.container_manager.cgroups.systemd_slices import SliceError, Slices
from actors.shared.linux import system_bus as client
from actors.shared.linux.cgroup_limits import CgroupLimits
from actors.shared.linux.system_bus import BUS, BusError, BusObject, DBusReply, SystemBus
from tests.support.system_bus import ADDRESS
from tests.support.system_bus import SystemBus as Daemon
from tests.support.system_bus import system_bus as daemon_at

POD, UNIT = ("kubepods", "pod1"), "kubepods-pod1.slice"


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Daemon]:
    with daemon_at(tmp_path / "bus") as found:
        yield found


def told(daemon: Daemon) -> list[tuple[str, str]]:
    return [(one["event"], one["unit"]) for one in daemon.seen() if "unit" in one]


def connections(reply: DBusReply) -> int:
    """On the bus, of an answer to ListNames."""
    return len([name for name in reply.body[0] if name.startswith(":")])


async def test_a_slice_is_started_updated_and_stopped(daemon: Daemon) -> None:
    with closing(SystemBus()) as bus:
        slices = Slices(2, bus.call)
        await slices.start(POD, CgroupLimits(pids=5))
        await slices.start(POD, CgroupLimits(memory_bytes=-1))
        await slices.update(POD, CgroupLimits(cpu_shares=1024))
        await slices.stop(POD)
        await slices.stop(POD)

    assert told(daemon) == [("start", UNIT), ("set", UNIT), ("set", UNIT), ("stop", UNIT)]
    assert daemon.seen("start")[0]["properties"]["TasksMax"] == ["t", 5]
    assert [one["properties"] for one in daemon.seen("set")] == [
        {"MemoryMax": ["t", (1 << 64) - 1]},
        {"CPUWeight": ["t", 39]},
    ]


async def test_after_the_bus_was_away_the_next_call_goes_through(daemon: Daemon) -> None:
    with closing(SystemBus()) as bus:
        slices = Slices(2, bus.call)
        await slices.start(POD, CgroupLimits(pids=5))
        daemon.stop()
        with pytest.raises(SliceError, match=UNIT):
            await slices.update(POD, CgroupLimits(pids=6))
        with pytest.raises(SliceError, match="the system bus does not answer: "):
            await slices.update(POD, CgroupLimits(pids=6))
        daemon.start()
        await slices.start(POD, CgroupLimits(pids=7))

    assert daemon.seen("start")[-1]["properties"]["TasksMax"] == ["t", 7]


async def test_calls_at_the_same_time_share_one_connection(daemon: Daemon) -> None:
    with closing(SystemBus()) as bus:
        replies = await asyncio.gather(*(bus.call(BUS, "ListNames", "", []) for _ in range(5)))

    assert {connections(reply) for reply in replies} == {2}, "systemd's stand-in, and ours"


async def test_a_refusal_names_the_call_and_the_reason(daemon: Daemon) -> None:
    nobody = BusObject("org.example.Nobody", "/", "org.example.Nobody")
    refused = r"^Greet was refused: org\.freedesktop\.DBus\.Error\.ServiceUnknown: .+"
    with closing(SystemBus()) as bus, pytest.raises(BusError, match=refused):
        await bus.call(nobody, "Greet", "", [])


async def test_a_bus_that_is_silent_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ADDRESS, f"unix:path={tmp_path / 'silent'}")
    monkeypatch.setattr(client, "CALL_SECONDS", 0.05)
    with socket.socket(socket.AF_UNIX) as listener, closing(SystemBus()) as bus:
        listener.bind(str(tmp_path / "silent"))
        listener.listen()

        with pytest.raises(BusError, match=r"^ListNames was not answered within [0-9.]+ s$"):
            await bus.call(BUS, "ListNames", "", [])


def test_without_a_call_the_library_is_not_imported() -> None:
    code = "import sys, actors.container_manager.actor; sys.exit('dbus_fast' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
