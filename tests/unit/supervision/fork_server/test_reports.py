"""Which ends of a process are faults."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from supervision.fork_server.process_entry import ProcessEntry
from supervision.fork_server.reports import Reports, as_recorded, inherits_sockets, is_incident
from supervision.process_messages import EXIT_ESCALATED, Cause, Exited, Started
from supervision.spec import ChildSpec, Policy, Restart


@pytest.mark.parametrize(
    ("cause", "status", "restart", "expected"),
    [
        ("signal", 9, "permanent", True),
        ("hang", 9, "temporary", True),
        ("exit", 1 << 8, "temporary", True),
        ("exit", 0, "permanent", True),
        ("exit", 0, "transient", False),
        ("stopped", 9, "permanent", False),
        ("restarting", 0, "permanent", False),
        ("parent", 9, "permanent", False),
        ("fork_server", 9, "permanent", False),
    ],
)
def test_an_end_without_an_order_is_an_incident(cause: Cause, status: int, restart: Restart, expected: bool) -> None:
    child = ProcessEntry("a", "root", ChildSpec(name="a", actor="x:A"), Policy(restart=restart))
    assert is_incident(child, Exited("a", 1, 100, status, cause)) is expected


@pytest.mark.parametrize(
    ("cause", "status", "spec", "recorded"),
    [
        ("stopped", 70 << 8, ChildSpec(name="a", actor="x:A"), "exception"),
        ("restarting", 70 << 8, ChildSpec(name="a", actor="x:A"), "exception"),
        ("stopped", 11, ChildSpec(name="a", actor="x:A"), "signal"),
        ("stopped", 0, ChildSpec(name="a", actor="x:A"), "stopped"),
        ("stopped", 9, ChildSpec(name="a", actor="x:A"), "stopped"),
        ("stopped", 15, ChildSpec(name="a", actor="x:A"), "stopped"),
        ("parent", 70 << 8, ChildSpec(name="a", actor="x:A"), "parent"),
        ("stopped", 70 << 8, ChildSpec(name="a", program=("containerd",)), "stopped"),
    ],
)
def test_an_actor_that_fails_while_it_stops_is_an_incident(
    cause: Cause, status: int, spec: ChildSpec, recorded: str
) -> None:
    child = ProcessEntry("a", "root", spec, Policy())
    end = as_recorded(child, Exited("a", 1, 100, status, cause))
    assert end.cause == recorded
    assert is_incident(child, end) is (recorded != cause)


def test_the_log_says_what_the_fork_server_found_and_never_the_text_of_an_exception(
    caplog: pytest.LogCaptureFixture,
) -> None:
    child = ProcessEntry("a", "root", ChildSpec(name="a", actor="x:A"), Policy())
    incidents: Any = SimpleNamespace(flush=lambda: None, opened=lambda exited: None)
    loop: Any = SimpleNamespace(call_later=lambda seconds, call: None)
    table: Any = {}
    reports = Reports(loop, table, incidents)
    reports.record(child, Exited("a", 1, 100, 9, "not_serving", "", "it answers without CRI\nmore"))
    reports.record(child, Exited("a", 1, 100, 70 << 8, "exception", "", "ValueError: a secret"))
    assert [record.getMessage() for record in caplog.records] == [
        "a ended: not_serving: it answers without CRI",
        "a ended: exception",
    ]


@pytest.mark.parametrize(
    ("cause", "status", "inherited"),
    [
        ("signal", 9, True),
        ("parent", 9, True),
        ("exit", 0, False),
        ("stopped", 0, False),
        ("restarting", 0, False),
        ("fork_server", 9, False),
    ],
)
def test_the_next_incarnation_inherits_sockets_after_a_fault_and_after_the_end_of_its_supervisor(
    cause: Cause, status: int, inherited: bool
) -> None:
    child = ProcessEntry("a", "root", ChildSpec(name="a", actor="x:A"), Policy(restart="transient"))
    assert inherits_sockets(child, Exited("a", 1, 100, status, cause)) is inherited


def test_the_time_without_service_counts_from_the_incident_also_after_a_fork_that_failed() -> None:
    closed: list[float] = []
    incidents: Any = SimpleNamespace(
        flush=lambda: None, opened=lambda exited: None, closed=lambda started, seconds: closed.append(seconds)
    )
    loop: Any = SimpleNamespace(call_later=lambda seconds, call: None)
    table: Any = {}
    reports = Reports(loop, table, incidents)
    child = ProcessEntry("a", "root", ChildSpec(name="a", actor="x:A"), Policy())
    reports.record(child, Exited("a", 1, 0, 70 << 8, "exit", "", "fork: no process"))
    reports.started(child, Started("a", 2, 100, 0.1))
    assert len(closed) == 1
    assert 0 <= closed[0] < 60


def test_forks_that_fail_after_a_fault_are_no_faults_of_their_own() -> None:
    opened: list[Exited] = []
    incidents: Any = SimpleNamespace(flush=lambda: None, opened=opened.append, closed=lambda started, seconds: None)
    loop: Any = SimpleNamespace(call_later=lambda seconds, call: None)
    table: Any = {}
    reports = Reports(loop, table, incidents)
    child = ProcessEntry("a", "root", ChildSpec(name="a", actor="x:A"), Policy())
    hang = Exited("a", 1, 100, 9, "hang")
    reports.record(child, hang)
    unforked = [Exited("a", number, 0, 70 << 8, "exit", "", "fork: no process") for number in (2, 3, 5)]
    reports.record(child, unforked[0])
    reports.record(child, unforked[1])
    reports.started(child, Started("a", 4, 101, 0.1))
    reports.record(child, unforked[2])
    assert opened == [hang, unforked[2]]


@pytest.mark.parametrize("connected", [True, False])
@pytest.mark.parametrize("ordered_by", [1, 2])
def test_a_connected_supervisor_gets_reports_of_the_processes_that_it_has_ordered(
    connected: bool, ordered_by: int
) -> None:
    told: list[Any] = []
    supervisor, child = (
        ProcessEntry(name, "", ChildSpec(name=name, actor="x:A"), Policy()) for name in ("root", "root/a")
    )
    child.parent, supervisor.incarnation, child.ordered_by = "root", 2, ordered_by
    uplink: Any = SimpleNamespace(send=told.append)
    supervisor.process.uplink = uplink if connected else None
    incidents: Any = SimpleNamespace(flush=lambda: None)
    loop: Any = SimpleNamespace(call_later=lambda seconds, call: None)
    table: Any = {"root": supervisor}
    reports = Reports(loop, table, incidents)
    exited = Exited("a", 1, 100, 0, "stopped")
    reports.exited(child, exited)
    assert told == ([exited] if connected and ordered_by == 2 else [])
    started = Started("a", 2, 101, 0.1)
    reports.started(child, started)
    assert told[-1:] == ([started] if connected else [])


@pytest.mark.parametrize(
    ("spec", "count"),
    [
        (ChildSpec(name="a"), 1),
        (ChildSpec(name="a", actor="x:A", children=(ChildSpec(name="b", actor="x:B"),)), 1),
        (ChildSpec(name="a", actor="x:A"), 0),
        (ChildSpec(name="a", program=("containerd",)), 0),
    ],
    ids=["plain supervisor", "supervisor with a class", "actor", "program"],
)
def test_only_a_supervisor_gives_up(spec: ChildSpec, count: int) -> None:
    entry = ProcessEntry("a", "root", spec, Policy())
    entry.ended(Exited("a", 1, 100, EXIT_ESCALATED << 8, "exit"), 5.0)
    assert entry.past.gave_up == count
