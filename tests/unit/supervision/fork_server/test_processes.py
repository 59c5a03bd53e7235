"""What is reported of the end of a child of the fork server."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from supervision import process_stat
from supervision.fork_server.control import Control
from supervision.fork_server.loop import Loop, ScheduledCall
from supervision.fork_server.parts import ForkServerParts
from supervision.fork_server.process_entry import ProcessEntry
from supervision.fork_server.process_table import ProcessTable
from supervision.fork_server.processes import ChildProcesses
from supervision.message import Message
from supervision.process_messages import EXIT_EXCEPTION, Cause, Exited, Started, never_ran
from supervision.protocol import Done, Fault, Inject, RollingRestart
from supervision.spec import ChildSpec
from tests.support.no_disks import no_disks
from tests.support.present import present

pytestmark = pytest.mark.slow

PID = 1 << 30


class _OneChild:
    """A tree with one child, `a`, and what its supervisor is told. Nothing is forked."""

    def __init__(self) -> None:
        self.ends: list[Exited] = []
        self.starts: list[Started] = []
        observer: Any = SimpleNamespace(
            exited=lambda child, exited: self.ends.append(exited), started=lambda child, one: self.starts.append(one)
        )
        context: Any = SimpleNamespace(names=SimpleNamespace(forget=lambda name, incarnation: None), status_page=None)
        oom_kills: Any = SimpleNamespace(explain=lambda pid, now: f"out of memory: {pid}")
        self.table = ProcessTable(ChildSpec(name="root", children=(ChildSpec(name="a", actor="x:A"),)), {})
        self.processes = ChildProcesses(Loop(), self.table, context, observer, oom_kills, no_disks())
        self.child = present(self.table.get("a"))

    def has_process(self, pid: int = PID, last_words: Callable[[_OneChild], object] = lambda self: None) -> _OneChild:
        """`last_words`: what its last message orders, which the fork server reads after it has reaped the process."""
        self.child.order(1.0, 0)
        self.child.process.forked(pid)
        self.table.forked(self.child)
        uplink: Any = SimpleNamespace(drain=lambda: last_words(self), close=lambda: None, send=lambda message: None)
        self.child.process.connected(uplink)
        self.child.in_service(1.0)
        return self

    def ask(self, question: Message) -> Message | None:
        other: Any = None
        return Control(
            other, Loop(), ForkServerParts(self.table, self.processes, other, other, no_disks()), other
        ).answer(question)


def end(status: int, cause: Cause | None, *, stopped: bool = False) -> Exited:
    """The report of a child that ended with this status of wait, killed by the fork server for this cause or not."""
    one = _OneChild().has_process()
    if stopped:
        one.child.process.found_stopped()
    if cause is not None:
        one.child.process.record_cause(cause)
    one.processes.reaped(PID, status, 77)
    return one.ends[0]


@pytest.mark.parametrize(
    ("status", "cause", "detail"),
    [
        (signal.SIGKILL, None, f"out of memory: {PID}"),
        (signal.SIGTERM, None, ""),
        (signal.SIGKILL, "hang", ""),
        (1 << 8, None, ""),
    ],
    ids=["killed by others", "another signal", "killed by the fork server", "ended by itself"],
)
def test_the_kernels_oom_killer_explains_a_kill_that_nobody_here_ordered(
    status: int, cause: Cause | None, detail: str
) -> None:
    found = end(status, cause)
    assert found.detail == detail
    assert found.memory_bytes == (77 if detail else 0)


def test_growth_alone_decides_whether_an_input_is_blamed_for_a_kill_by_others_or_while_stopped() -> None:
    assert end(signal.SIGKILL, None).memory_bytes == 77
    assert end(signal.SIGSEGV, None).memory_bytes == 0
    assert end(signal.SIGKILL, "hang").memory_bytes == 0
    assert end(signal.SIGKILL, "hang", stopped=True).memory_bytes == 77


def test_a_process_that_is_ready_while_its_end_is_under_way_is_not_in_service() -> None:
    """It would be killed never, and supervised no more: its timers end with its start."""
    one = _OneChild()
    one.child.order(1.0, 1)
    one.child.process.record_cause("hang", "no heartbeat")
    kill = ScheduledCall(lambda: None)
    one.child.process.add_timer(kill)
    one.processes.in_service(one.child)
    assert (one.child.state, one.starts) == ("starting", [])
    assert kill.call is not None


def test_the_memory_of_a_child_above_its_ceiling_is_told() -> None:
    assert end(signal.SIGKILL, "memory").memory_bytes == 77


@pytest.mark.parametrize(
    "last_words",
    [
        lambda one: one.processes.kill(one.child, "stopped", ""),
        lambda one: one.processes.stop(one.child, 0.0, "stopped"),
        lambda one: one.processes.stop(one.child, 5.0, "restarting"),
        lambda one: one.ask(RollingRestart(names=("a",))),
    ],
    ids=["kill", "stop at once", "stop", "rolling restart"],
)
def test_a_process_that_orders_its_own_end_and_has_ended_before_has_its_own_cause(
    last_words: Callable[[_OneChild], object],
) -> None:
    """Its PID may be another process's by now: no signal is sent."""
    one = _OneChild().has_process(last_words=last_words)
    one.processes.reaped(PID, EXIT_EXCEPTION << 8)
    assert [exited.cause for exited in one.ends] == ["exception"]


@pytest.mark.parametrize("fault", ["crash", "stop"])
def test_no_fault_is_injected_into_a_process_that_has_ended(fault: Fault) -> None:
    answers: list[object] = []
    one = _OneChild().has_process(last_words=lambda one: answers.append(one.ask(Inject(name="a", fault=fault))))
    one.processes.reaped(PID, 0)
    assert answers == [Done("a has no process now")]


def test_a_process_that_ends_by_itself_when_it_is_asked_to_has_its_own_cause() -> None:
    """A zombie: the fork server has not reaped it yet."""
    with subprocess.Popen(["sh", "-c", f"exit {EXIT_EXCEPTION}"]) as process:
        while process_stat.state(process.pid) != "Z":
            os.sched_yield()
        one = _OneChild().has_process(process.pid)
        one.processes.stop(one.child, 5.0)
        assert one.child.state == "stopping"
        one.processes.reaped(process.pid, EXIT_EXCEPTION << 8)
    assert [exited.cause for exited in one.ends] == ["exception"]


def test_an_actor_with_processes_that_cannot_be_killed_is_not_forked_until_one_of_them_has_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    one, loop = _OneChild(), Loop()
    forked: list[ProcessEntry] = []
    monkeypatch.setattr(one.processes, "_launcher", SimpleNamespace(order=forked.append))
    monkeypatch.setattr(one.processes, "_loop", loop)
    for pid in (PID, PID + 1):
        one.has_process(pid)
        one.processes._abandon(one.child)
    one.processes.start(one.child)
    loop.call_later(0.01, loop.stop)
    loop.run()
    refused = one.ends[-1]
    assert (forked, one.child.alive, never_ran(refused)) == ([], False, True)
    assert refused.detail == "fork: 2 of its processes wait in the kernel, and do not end on SIGKILL"
    one.processes.reaped(PID, signal.SIGKILL)
    one.processes.start(one.child)
    assert forked == [one.child]
