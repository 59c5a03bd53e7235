"""What is kept of a shutdown."""

from __future__ import annotations

import json
from pathlib import Path

from actors.shared.kube.times import micro_time
from actors.shutdown_manager.shutdown_state import FILE, ShutdownRecord, ShutdownStateFile, seconds


def test_a_recorded_shutdown_is_read_by_the_next_incarnation(tmp_path: Path) -> None:
    state = ShutdownStateFile(str(tmp_path))
    state.load()
    assert (state.last, state.problem) == (ShutdownRecord(), "")
    state.put(ShutdownRecord(start=micro_time(1e9), pods=("u1", "u2")))
    state.write()
    other = ShutdownStateFile(str(tmp_path))
    other.load()
    assert other.last == ShutdownRecord(start="2001-09-09T01:46:40.000000Z", pods=("u1", "u2"))
    assert [path.name for path in tmp_path.iterdir()] == [FILE]


def test_the_file_of_the_kubelet_is_read(tmp_path: Path) -> None:
    of_kubelet = {"startTime": "2024-01-02T03:04:05.123456789Z", "endTime": "0001-01-01T00:00:00Z"}
    (tmp_path / FILE).write_text(json.dumps(of_kubelet))
    state = ShutdownStateFile(str(tmp_path))
    state.load()
    assert seconds(state.last.start) == 1704164645.123456
    assert seconds(state.last.end) == 0.0


def test_a_damaged_file_is_a_problem_and_no_end(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text("{")
    state = ShutdownStateFile(str(tmp_path))
    state.load()
    assert str(tmp_path / FILE) in state.problem
    assert state.last == ShutdownRecord()


def test_a_change_is_told_and_written_by_order(tmp_path: Path) -> None:
    state = ShutdownStateFile(str(tmp_path))
    assert state.put(ShutdownRecord(end=micro_time(5.0)))
    assert not state.put(ShutdownRecord(end=micro_time(5.0)))
    assert not (tmp_path / FILE).exists()
    state.write()
    other = ShutdownStateFile(str(tmp_path))
    other.load()
    assert other.last == state.last


def test_a_shutdown_is_open_from_its_start_until_its_end_is_recorded() -> None:
    assert not ShutdownRecord().is_open
    assert ShutdownRecord(start=micro_time(1e9)).is_open
    assert not ShutdownRecord(start=micro_time(1e9), end=micro_time(2e9)).is_open


def test_a_time_is_read_as_it_was_written() -> None:
    assert seconds(micro_time(1234567890.25)) == 1234567890.25
    assert seconds("") == seconds("yesterday") == 0.0
