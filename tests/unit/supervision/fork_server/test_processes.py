"""What is reported of the end of a child of the fork server."""

from __future__ import annotations

import signal
from types import SimpleNamespace
from typing import Any

import pytest

from supervision.fork_server.loop import Loop, ScheduledCall
from supervision.fork_server.process_table import ProcessTable
from supervision.fork_server.processes import ChildProcesses
from supervision.process_messages import Cause, Exited, Started
from supervision.spec import ChildSpec
from tests.support.present import present

pytestmark = pytest.mark.slow

PID = 1 << 30


class _OomKills:
    def explain(self, pid: int, now: float) -> str:
        return f"out of memory: {pid}"


def end(status: int, cause: Cause | None, *, stopped: bool = False) -> Exited:
    """The report of a child that ended with this status of wait, killed by the fork server for this cause or not."""
    table = ProcessTable(ChildSpec(name="root", children=(ChildSpec(name="a", actor="x:A"),)), {})
    reports: list[Exited] = []
    observer: Any = SimpleNamespace(exited=lambda child, exited: reports.append(exited))
    context: Any = SimpleNamespace(names=SimpleNamespace(forget=lambda name, incarnation: None), status_page=None)
    oom_kills: Any = _OomKills()
    processes = ChildProcesses(Loop(), table, context, observer, oom_kills)
    child = present(table.get("a"))
    child.process.forked(PID)
    table.forked(child)
    if stopped:
        child.process.found_stopped()
    if cause is not None:
        child.process.record_cause(cause)
    processes.reaped(PID, status, 77)
    return reports[0]


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
    table = ProcessTable(ChildSpec(name="root", children=(ChildSpec(name="a", actor="x:A"),)), {})
    started: list[Started] = []
    observer: Any = SimpleNamespace(started=lambda child, one: started.append(one))
    context: Any = SimpleNamespace(names=None, status_page=None)
    oom_kills: Any = _OomKills()
    processes = ChildProcesses(Loop(), table, context, observer, oom_kills)
    child = present(table.get("a"))
    child.order(1.0, 1)
    child.process.record_cause("hang", "no heartbeat")
    kill = ScheduledCall(lambda: None)
    child.process.add_timer(kill)
    processes.in_service(child)
    assert (child.state, started) == ("starting", [])
    assert kill.call is not None


def test_the_memory_of_a_child_above_its_ceiling_is_told() -> None:
    assert end(signal.SIGKILL, "memory").memory_bytes == 77
