"""Which processes are forked when, and what they are to close. Nothing is forked here."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from supervision.fork_server import launcher
from supervision.fork_server.fork import ForkPlan
from supervision.fork_server.launcher import LaunchContext, Launcher
from supervision.fork_server.loop import Loop
from supervision.fork_server.page_release import clean_ranges
from supervision.fork_server.policies import Policies
from supervision.fork_server.process_entry import ProcessEntry
from supervision.fork_server.socket_store import SocketStore
from supervision.process.status_page import StatusPage
from supervision.spec import ChildSpec, Policy


class Seen:
    """What was forked, and what came of it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.batches: list[list[ForkPlan]] = []
        self.forked: list[tuple[str, int]] = []
        self.failed: list[str] = []
        self.refuse: set[str] = set()
        self.loop, self.own = Loop(), os.open("/dev/null", os.O_RDONLY)
        application: Any = SimpleNamespace(context=None, refresh="", dynamic=False)
        names: Any = None
        context = LaunchContext(
            application=application,
            policies=Policies(ChildSpec(name="root"), {}),
            names=names,
            status_page=StatusPage(8),
            release_memory=lambda: None,
            sockets=SocketStore(self.loop),
            private_fds=lambda: [self.own],
        )
        self.launcher = Launcher(self.loop, context, self._forked, self._not_forked)
        self._uplinks: list[socket.socket] = []
        monkeypatch.setattr(launcher, "fork_each", self._fork_each)

    def order(self, *names: str, program: str = "") -> list[ProcessEntry]:
        specs = [
            ChildSpec(name=name, actor="" if program else "x:A", program=(program,) * bool(program)) for name in names
        ]
        children = [ProcessEntry(spec.name, "root", spec, Policy()) for spec in specs]
        for child in children:
            self.launcher.order(child)
        return children

    def turn(self) -> None:
        self.loop.call_later(0.0, self.loop.stop)
        self.loop._running = True
        self.loop.run()

    def close(self) -> None:
        os.close(self.own)
        for sock in self._uplinks:
            sock.close()

    def _fork_each(self, plans: Sequence[ForkPlan]) -> list[int | OSError]:
        self.batches.append(list(plans))
        return [OSError(11, "no") if plan.title in self.refuse else 1000 + n for n, plan in enumerate(plans)]

    def _not_forked(self, child: ProcessEntry, error: OSError) -> None:
        self.failed.append(child.name)

    def _forked(self, child: ProcessEntry, uplink: socket.socket | None) -> None:
        self.forked.append((child.name, child.process.pid))
        if uplink is not None:
            self._uplinks.append(uplink)


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> Iterator[Seen]:
    found = Seen(monkeypatch)
    yield found
    found.close()


def test_all_forks_ordered_in_one_turn_of_the_loop_are_one_batch(seen: Seen) -> None:
    seen.order("a", "b", "c")
    assert seen.batches == []
    seen.turn()
    seen.order("d")
    seen.turn()
    assert [[plan.title for plan in batch] for batch in seen.batches] == [["a", "b", "c"], ["d"]]
    assert seen.forked == [("a", 1000), ("b", 1001), ("c", 1002), ("d", 1000)]


def test_a_child_closes_the_fork_servers_descriptors_and_those_of_the_others_and_keeps_its_own(seen: Seen) -> None:
    a, b = seen.order("a", "b")
    seen.turn()
    assert a.process.blackbox is not None
    assert b.process.blackbox is not None
    one, other = (set(plan.close) for plan in seen.batches[0])
    assert seen.own in one & other
    assert len(one) == len(other) == 1 + 3, (
        "the fork server's own, both ends of the other, the fork server's end of this"
    )
    assert len(one ^ other) == 2, "each keeps one end"


def test_a_program_closes_the_fork_servers_descriptors_before_its_exec(seen: Seen) -> None:
    """A disk that hangs may keep it from the exec, which closes them too, and so the agent's lock from the next one."""
    a, b = [*seen.order("a"), *seen.order("b", program="/bin/true")]
    seen.turn()
    assert a.process.blackbox is not None
    assert b.process.blackbox is not None
    _, program = (set(plan.close) for plan in seen.batches[0])
    assert seen.own in program
    assert len(program) == 1 + 2, "both ends of the actor"
    assert b.process.blackbox.fd not in program


def test_a_start_that_is_withdrawn_in_the_same_turn_is_not_forked(seen: Seen) -> None:
    _, b = seen.order("a", "b")
    assert seen.launcher.withdraw(b)
    assert not seen.launcher.withdraw(b)
    seen.turn()
    assert seen.forked == [("a", 1000)]


def test_a_refused_fork_affects_no_other(seen: Seen) -> None:
    seen.refuse.add("b")
    seen.order("a", "b", "c")
    seen.turn()
    assert seen.failed == ["b"]
    assert [name for name, _ in seen.forked] == ["a", "c"]


def test_clean_pages_of_large_files_are_given_back() -> None:
    def mapping(start: int, size: int, mode: str, path: str, anonymous: int) -> str:
        return f"{start:x}-{start + size:x} {mode} 00000000 fe:00 12     {path}\nRss: 4 kB\nAnonymous: {anonymous} kB\n"

    megabyte = 1 << 20
    smaps = "".join(
        (
            mapping(0x10000000, megabyte, "r-xp", "/usr/lib/a library.so", 0),
            mapping(0x20000000, megabyte, "r--p", "/usr/lib/a library.so", 64),
            mapping(0x30000000, megabyte, "rw-p", "/usr/lib/a library.so", 0),
            mapping(0x40000000, megabyte, "r--s", "/shared", 0),
            mapping(0x50000000, megabyte, "r-xp", "", 0),
            mapping(0x60000000, 4096, "r-xp", "/usr/lib/small.so", 0),
            mapping(0x70000000, megabyte, "r--p", "/usr/lib/b.so", 0),
        )
    )
    assert clean_ranges(smaps.splitlines(keepends=True)) == [(0x10000000, megabyte), (0x70000000, megabyte)]


def test_a_process_continues_after_its_ranges_are_given_back() -> None:
    from supervision.fork_server.page_release import PageRelease

    pages = PageRelease()
    assert pages.ranges
    pages.release()
    assert sum(range(1000)) == 499500


FREED_AMID_THE_HEAP = """
from pathlib import Path
from supervision.fork_server.page_release import PageRelease
def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096
pages = PageRelease()
blocks = [bytes(60_000) for _ in range(500)]
del blocks[:-1]
before = resident()
pages.release()
print(before - resident())
"""


def test_free_memory_inside_the_heap_is_returned() -> None:
    given = subprocess.check_output([sys.executable, "-c", FREED_AMID_THE_HEAP])
    assert int(given) > 20_000_000
