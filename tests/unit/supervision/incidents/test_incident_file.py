import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervision.incidents.incident import MAX_DETAIL, Incident, UnwrittenIncidents, incident_of, older, read
from supervision.incidents.incident_file import Incidents
from supervision.incidents.spare_incidents import MOST_BYTES
from supervision.process_messages import FOUND, Cause, Exited, Started

SIGKILLED = 9


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def exited(name: str = "pleg", incarnation: int = 1, **changes: object) -> Exited:
    given_: dict[str, object] = {"pid": 4242, "status": SIGKILLED, "cause": "signal", "uptime": 12.3456}
    return Exited(name=name, incarnation=incarnation, **(given_ | changes))  # type: ignore[arg-type]


def test_a_fault_is_one_json_line_at_once(tmp_path: Path) -> None:
    path = tmp_path / "state" / "incidents.jsonl"
    Incidents(path, wall=lambda: 1_700_000_000.25).opened(exited(message="actors.pleg.messages:GetRuntimePods"))
    (line,) = path.read_text().splitlines()
    assert json.loads(line) == {
        "time": "2023-11-14T22:13:20.250Z",
        "actor": "pleg",
        "incarnation": 1,
        "pid": 4242,
        "cause": "signal",
        "exit_code": None,
        "signal": "SIGKILL",
        "message": "actors.pleg.messages:GetRuntimePods",
        "detail": "",
        "uptime_seconds": 12.346,
        "restart_seconds": None,
    }
    assert path.stat().st_mode & 0o777 == 0o600


def test_the_restart_latency_is_filled_in_on_the_same_line(tmp_path: Path) -> None:
    path = tmp_path / "incidents"
    incidents = Incidents(path)
    incidents.opened(exited("pleg"))
    incidents.opened(exited("prober"))
    size = path.stat().st_size
    incidents.closed(Started("pleg", 2, 4243, 0.01), 0.0125)
    assert [i.restart_seconds for i in read(path).incidents] == [0.0125, None]
    assert path.stat().st_size == size


def test_failed_restarts_each_have_their_record_and_all_end_with_the_one_that_worked(tmp_path: Path) -> None:
    clock = Clock()
    incidents = Incidents(tmp_path / "incidents", clock=clock)
    incidents.opened(exited(incarnation=1))
    clock.now += 10
    incidents.opened(exited(incarnation=2, cause="start_timeout"))
    incidents.closed(Started("pleg", 3, 1, 0.1), 0.5)
    assert [i.restart_seconds for i in read(tmp_path / "incidents").incidents] == [10.5, 0.5]


def test_a_fault_reported_twice_is_one_record(tmp_path: Path) -> None:
    incidents = Incidents(tmp_path / "incidents")
    incidents.opened(exited())
    incidents.opened(exited())
    assert len(read(tmp_path / "incidents").incidents) == 1


def test_the_file_is_bounded_and_keeps_the_newest(tmp_path: Path) -> None:
    path = tmp_path / "incidents"
    incidents = Incidents(path, max_bytes=4096)
    for number in range(1, 101):
        incidents.opened(exited(incarnation=number))
    assert path.stat().st_size <= 4096
    assert older(path).stat().st_size <= 4096
    kept = [incident.incarnation for incident in read(path).incidents]
    assert kept == list(range(101 - len(kept), 101))
    assert sorted(p.name for p in tmp_path.iterdir()) == ["incidents", "incidents.1"]


def test_a_latency_is_filled_in_after_rotation_too_and_dropped_after_two(tmp_path: Path) -> None:
    path = tmp_path / "incidents"
    incidents = Incidents(path, max_bytes=600)
    incidents.opened(exited("slow"))
    incidents.opened(exited("other", 1))
    incidents.opened(exited("other", 2))
    incidents.closed(Started("slow", 2, 1, 0.1), 1.5)
    assert {i.actor: i.restart_seconds for i in read(path).incidents}["slow"] == 1.5
    incidents.opened(exited("late"))
    for number in range(3, 9):
        incidents.opened(exited("other", number))
    before = [older(path).read_bytes(), path.read_bytes()]
    incidents.closed(Started("late", 2, 1, 0.1), 1.5)
    assert [older(path).read_bytes(), path.read_bytes()] == before


def test_the_memory_of_an_actor_that_never_returns_does_not_grow(tmp_path: Path) -> None:
    incidents = Incidents(tmp_path / "incidents", max_bytes=4096)
    for number in range(1, 1001):
        incidents.opened(exited(incarnation=number))
    assert len(incidents._open["pleg"]) == len(read(tmp_path / "incidents").incidents) < 50
    incidents.closed(Started("pleg", 1001, 1, 0.1), 0.5)
    assert incidents._open == {}


def test_damaged_lines_are_skipped_and_counted(tmp_path: Path) -> None:
    path = tmp_path / "incidents"
    incidents = Incidents(path)
    incidents.opened(exited(incarnation=1))
    with path.open("ab") as file:
        file.write(b'\xff\x00garbage\n{"time": "x"}\n{"time":"2026')
    incidents.opened(exited(incarnation=2))
    reading = read(path)
    assert [i.incarnation for i in reading.incidents] == [1, 2]
    assert reading.damaged == 3


def test_a_missing_file_has_no_incidents(tmp_path: Path) -> None:
    assert read(tmp_path / "none").incidents == []


def test_a_disk_that_refuses_raises_nothing_and_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    incidents = Incidents(tmp_path / "file" / "incidents")
    incidents.opened(exited())
    incidents.closed(Started("pleg", 2, 1, 0.1), 0.1)
    assert incidents.unwritten().error


def test_a_long_traceback_keeps_its_end() -> None:
    incident = incident_of(exited(cause="exception", status=70 << 8, detail="x" * 100_000 + "\nValueError: bad"), 0)
    assert len(incident.detail) == MAX_DETAIL
    assert incident.exit_code == 70
    assert incident.summary == "exception: ValueError: bad"


def test_the_summary_has_the_cause_in_one_line() -> None:
    assert incident_of(exited(), 0).summary == "signal SIGKILL"
    assert incident_of(exited(cause="exit", status=75 << 8, detail="a failed"), 0).summary == "exit code 75 a failed"
    hang = incident_of(exited(cause="hang", detail="no heartbeat for 10.2 s\nFile x"), 0)
    assert hang.summary == "hang: no heartbeat for 10.2 s"


@pytest.mark.parametrize("cause", FOUND)
def test_the_summary_of_what_the_fork_server_found_is_its_own_first_line(cause: Cause) -> None:
    found = incident_of(exited(cause=cause, detail="so it is\nmore"), 0)
    assert found.summary == f"{cause}: so it is"


@given(st.binary(max_size=400), st.binary(max_size=400))
def test_whatever_else_is_in_the_file_its_whole_lines_are_read(
    tmp_path_factory: pytest.TempPathFactory, before: bytes, after: bytes
) -> None:
    path = tmp_path_factory.mktemp("incidents") / "file"
    Incidents(path).opened(exited("prober"))
    path.write_bytes(before + b"\n" + path.read_bytes() + after)
    found = read(path).incidents
    assert [incident.actor for incident in found] == ["prober"]
    assert all(isinstance(incident, Incident) for incident in found)


def test_incidents_that_a_full_disk_refused_are_written_later_with_the_restart_time(tmp_path: Path) -> None:
    blocked = tmp_path / "directory"
    blocked.write_text("in the way")
    clock = Clock()
    incidents = Incidents(blocked / "incidents", clock=clock)
    incidents.opened(exited(incarnation=1))
    clock.now += 1.0
    incidents.opened(exited(incarnation=2))
    incidents.closed(Started("pleg", 3, 1, 0.1), 0.5)
    assert incidents.unwritten().error
    blocked.unlink()
    incidents.flush()
    found = read(blocked / "incidents").incidents
    assert [(each.incarnation, each.restart_seconds) for each in found] == [(1, 1.5), (2, 0.5)]
    incidents.flush()
    assert len(read(blocked / "incidents").incidents) == 2, "each is written once"


def test_unwritten_incidents_are_reported_with_the_reason_and_since_when(tmp_path: Path) -> None:
    blocked = tmp_path / "directory"
    blocked.write_text("in the way")
    clock = Clock()
    incidents = Incidents(blocked / "incidents", clock=clock)
    assert incidents.unwritten() == UnwrittenIncidents()
    started_at = clock.now
    incidents.opened(exited(incarnation=1))
    clock.now += 1.0
    incidents.opened(exited(incarnation=2))
    incidents.closed(Started("pleg", 3, 1, 0.1), 0.5)
    waiting = incidents.unwritten()
    assert [(each.incarnation, each.restart_seconds) for each in waiting.incidents] == [(1, 1.5), (2, 0.5)]
    assert (waiting.error, waiting.since) == ("File exists", started_at)
    blocked.unlink()
    incidents.flush()
    assert incidents.unwritten().incidents == []


def test_a_fifo_in_place_of_the_file_does_not_block(tmp_path: Path) -> None:
    path = tmp_path / "incidents.jsonl"
    incidents = Incidents(path)
    incidents.opened(exited())
    path.unlink()
    os.mkfifo(path)
    incidents.closed(Started(name="pleg", incarnation=2, pid=4243, seconds=0.5), 0.5)
    incidents.opened(exited(incarnation=2))
    assert incidents.unwritten().error
    with pytest.raises(OSError, match="not a regular file"):
        read(path)
    path.unlink()
    incidents.closed(Started(name="pleg", incarnation=3, pid=4244, seconds=0.5), 0.5)
    assert [each.incarnation for each in read(path).incidents] == [2]


def test_records_that_an_agent_could_not_write_are_written_by_the_next(tmp_path: Path) -> None:
    path, spare = tmp_path / "incidents", tmp_path / "run" / "unwritten"
    spare.parent.mkdir()
    path.symlink_to(tmp_path / "none" / "file")
    first = Incidents(path, spare=spare)
    first.opened(exited("pleg"))
    first.opened(exited("prober"))
    assert spare.stat().st_mode & 0o777 == 0o600
    second = Incidents(path, spare=spare)
    second.flush()
    assert [one.actor for one in second.unwritten().incidents] == ["pleg", "prober"]
    second.closed(Started("pleg", 1, 4243, 0.01), 0.5)
    path.unlink()
    second.flush()
    assert [(one.actor, one.restart_seconds) for one in read(path).incidents] == [("pleg", None), ("prober", None)]
    assert not spare.exists()


def test_a_record_that_was_written_before_the_agent_was_killed_is_not_written_twice(tmp_path: Path) -> None:
    path, spare = tmp_path / "incidents", tmp_path / "unwritten"
    path.symlink_to(tmp_path / "none" / "file")
    Incidents(path, spare=spare).opened(exited("pleg"))
    kept = spare.read_bytes()
    path.unlink()
    Incidents(path, spare=spare).flush()
    spare.write_bytes(b"torn\n" + kept)
    incidents = Incidents(path, spare=spare)
    incidents.opened(exited("prober"))
    assert [one.actor for one in read(path).incidents] == ["pleg", "prober"]


def test_the_spare_file_is_bounded_and_its_faults_are_none_of_the_caller(tmp_path: Path) -> None:
    path, spare = tmp_path / "incidents", tmp_path / "unwritten"
    path.symlink_to(tmp_path / "none" / "file")
    incidents = Incidents(path, spare=spare)
    for incarnation in range(100):
        incidents.opened(exited(incarnation=incarnation, detail="x" * MAX_DETAIL))
    assert MOST_BYTES - 2 * MAX_DETAIL < spare.stat().st_size <= MOST_BYTES
    assert len(incidents.unwritten().incidents) == 100
    spare.unlink()
    spare.mkdir()
    incidents.opened(exited("prober"))
    other = Incidents(path, spare=spare)
    other.flush()
    assert other.unwritten().incidents == []


def test_the_next_agent_writes_when_the_actor_was_back_too(tmp_path: Path) -> None:
    path, spare = tmp_path / "incidents", tmp_path / "unwritten"
    path.symlink_to(tmp_path / "none" / "file")
    first = Incidents(path, spare=spare)
    first.opened(exited("pleg"))
    first.opened(exited("prober"))
    first.closed(Started("pleg", 2, 4243, 0.01), 0.5)
    path.unlink()
    Incidents(path, spare=spare).flush()
    assert [(one.actor, one.restart_seconds) for one in read(path).incidents] == [("pleg", 0.5), ("prober", None)]


class HeldGuard:
    """It answers when the test says so."""

    def __init__(self) -> None:
        self.asked: list[Callable[[str], None]] = []

    def __call__(self, answer: Callable[[str], None]) -> None:
        self.asked.append(answer)

    def answer(self, error: str = "") -> None:
        self.asked.pop(0)(error)


def test_nothing_is_written_before_the_guard_allows_it(tmp_path: Path) -> None:
    path, guard = tmp_path / "incidents", HeldGuard()
    incidents = Incidents(path, spare=tmp_path / "spare")
    incidents.guard(guard)
    incidents.opened(exited("pleg"))
    incidents.opened(exited("prober"))
    incidents.closed(Started("pleg", 2, 4243, 0.01), 0.25)
    assert len(guard.asked) == 1, "one question at a time"
    assert not path.exists()
    assert {one.actor for one in read(tmp_path / "spare").incidents} == {"pleg", "prober"}, "for the next agent"
    guard.answer()
    assert [(one.actor, one.restart_seconds) for one in read(path).incidents] == [("pleg", 0.25), ("prober", None)]
    assert not (tmp_path / "spare").exists()
    incidents.closed(Started("prober", 2, 4244, 0.01), 0.5)
    assert read(path).incidents[1].restart_seconds is None
    guard.answer()
    assert read(path).incidents[1].restart_seconds == 0.5
    incidents.flush()
    assert guard.asked == [], "nothing waits"


def test_records_wait_for_a_disk_that_hangs(tmp_path: Path) -> None:
    path, guard, clock = tmp_path / "incidents", HeldGuard(), Clock()
    incidents = Incidents(path, clock=clock, spare=tmp_path / "spare")
    incidents.guard(guard)
    incidents.opened(exited("pleg"))
    guard.answer("the disk does not answer")
    incidents.end()
    assert not path.exists()
    assert (incidents.unwritten().error, incidents.unwritten().since) == ("the disk does not answer", 100.0)
    incidents.flush()
    guard.answer()
    assert [one.actor for one in read(path).incidents] == ["pleg"]
    assert incidents.unwritten() == UnwrittenIncidents(since=100.0)


def test_the_last_call_writes_what_waits_for_the_guard(tmp_path: Path) -> None:
    incidents = Incidents(tmp_path / "incidents")
    incidents.guard(HeldGuard())
    incidents.opened(exited("pleg"))
    incidents.end()
    assert [one.actor for one in read(tmp_path / "incidents").incidents] == ["pleg"]
