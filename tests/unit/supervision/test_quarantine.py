from __future__ import annotations

import errno
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervision.memory_growth import LEAST_KIB, MemoryGrowth
from supervision.process_messages import LastEnd
from supervision.quarantine import Crashes, Journal, QuarantinePolicy, TaskRecord

POLICY = QuarantinePolicy(crashes=3, window_seconds=100, most_keys=4)


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def die_on(directory: Path, key: str, clock: Clock) -> None:
    """An incarnation that starts, records the key and is gone."""
    journal = Journal(directory, POLICY, clock)
    with pytest.raises(ZeroDivisionError), journal.handling(key):
        raise ZeroDivisionError
    journal.close()


def test_the_next_incarnation_has_the_record_of_the_input_that_ended_the_last_one(tmp_path: Path) -> None:
    die_on(tmp_path, "pod-1", Clock())
    journal = Journal(tmp_path, POLICY, Clock())
    assert journal.died_on == "pod-1"
    assert journal.crashes_on("pod-1") == 1
    assert not journal.is_quarantined("pod-1")
    assert Journal(tmp_path, POLICY, Clock()).died_on == "", "it is counted once"


def test_no_input_is_blamed_for_an_end_by_order(tmp_path: Path) -> None:
    die_on(tmp_path, "pod-1", Clock())
    journal = Journal(tmp_path, POLICY, Clock(), last_end=LastEnd(by_order=True))
    assert (journal.died_on, journal.bounds_death, journal.crashes_on("pod-1")) == ("", False, 0)
    assert Journal(tmp_path, POLICY, Clock()).died_on == "", "the record is cleared"


class Memory:
    """The memory of a process, KiB."""

    used = 100_000

    def __call__(self) -> int:
        return self.used


def end_at_step(journal: Journal, memory: Memory, key: str, grown: int) -> None:
    """Leave the journal as a process does that is killed amid a step which has grown it by KiB."""
    journal.record_of(lambda: key).start()
    memory.used += grown
    journal.close()


def end_in(directory: Path, memory: Memory, *steps: tuple[str, int]) -> str:
    """What a process is found to have died on that ended for lack of memory in the last step; each grows it by KiB."""
    journal = Journal(directory, POLICY, Clock())
    with journal.handling("other"):
        pass
    for key, grown in steps[:-1]:
        with journal.handling(key):
            memory.used += grown
    end_at_step(journal, memory, *steps[-1])
    return Journal(directory, POLICY, Clock(), last_end=LastEnd(memory_bytes=memory.used * 1024)).died_on


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ([("bad", 200_000)], "bad"),
        ([("good", 1000), ("bad", 200_000)], "bad"),
        ([("bad", 50_000), ("bad", 50_000), ("bad", 50_000), ("good", 1000)], "bad"),
        ([("a", 50_000), ("b", 50_000), ("c", 50_000)], ""),
        ([("good", LEAST_KIB - 1)], ""),
        ([("good", 0)], ""),
    ],
)
def test_an_input_is_blamed_for_a_death_for_want_of_memory_only_if_it_caused_the_growth(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, steps: list[tuple[str, int]], expected: str
) -> None:
    memory = Memory()
    monkeypatch.setattr("supervision.quarantine.MemoryGrowth", lambda most: MemoryGrowth(most, memory))
    assert end_in(tmp_path, memory, *steps) == expected


def test_growth_outside_of_any_input_is_blamed_on_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    memory = Memory()
    monkeypatch.setattr("supervision.quarantine.MemoryGrowth", lambda most: MemoryGrowth(most, memory))
    journal = Journal(tmp_path, POLICY, Clock())
    memory.used += 300_000
    end_at_step(journal, memory, "only", 40_000)
    last_end = LastEnd(memory_bytes=memory.used * 1024)
    assert Journal(tmp_path, POLICY, Clock(), last_end=last_end).died_on == ""
    assert Journal(tmp_path, POLICY, Clock()).crashes_on("only") == 0


def test_the_growth_of_few_inputs_is_kept() -> None:
    memory = Memory()
    growth = MemoryGrowth(2, memory)
    for number, key in enumerate(("small", "large", "larger", "")):
        growth.started(key)
        memory.used += number + 1
        growth.ended(key)
    assert growth.started("small").grown == 0
    assert (growth.started("large").grown, growth.started("larger").grown) == (2, 3)


def test_the_third_crash_puts_the_input_in_quarantine_and_no_other(tmp_path: Path) -> None:
    clock = Clock()
    for key in ("bad", "good", "bad", "bad"):
        die_on(tmp_path, key, clock)
        clock.now += 1
    journal = Journal(tmp_path, POLICY, clock)
    assert journal.is_quarantined("bad")
    assert not journal.is_quarantined("good")


def test_no_input_is_blamed_for_a_death_while_the_host_has_no_threads_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    clock = Clock()
    for _ in range(4):
        die_on(tmp_path, "innocent", clock)
        with monkeypatch.context() as scarce:
            scarce.setattr(threading.Thread, "start", refused)
            journal = Journal(tmp_path, POLICY, clock)
        assert (journal.died_on, journal.bounds_death) == ("", False), "its supervisor counts it"
    assert journal.crashes_on("innocent") == 0
    die_on(tmp_path, "guilty", clock)
    threads = threading.active_count()
    assert Journal(tmp_path, POLICY, clock).died_on == "guilty"
    assert threading.active_count() == threads, "none is left"


def test_the_deaths_that_the_quarantine_bounds_are_those_before_it_and_no_others(tmp_path: Path) -> None:
    clock, bounded = Clock(), []
    assert not Journal(tmp_path, POLICY, clock).bounds_death
    for _ in range(5):
        die_on(tmp_path, "bad", clock)
        bounded.append(Journal(tmp_path, POLICY, clock).bounds_death)
        clock.now += 1
    assert bounded == [True, True, True, False, False], "who goes on in spite of it is not excused"


def test_a_record_that_cannot_be_written_is_no_reason_to_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk is full: nobody is blamed then."""
    journal, done = Journal(tmp_path, POLICY, Clock()), []

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(os, "pwrite", full)
    with journal.handling("pod-1"):
        done.append("pod-1")
    assert done == ["pod-1"]


def test_a_key_of_ended_work_is_not_counted(tmp_path: Path) -> None:
    journal = Journal(tmp_path, POLICY, Clock())
    with journal.handling("pod-1"):
        pass
    assert Journal(tmp_path, POLICY, Clock()).died_on == ""


HOLDING = """
import sys, time
from collections.abc import Callable
from pathlib import Path
from supervision.quarantine import Journal, QuarantinePolicy
with Journal(Path(sys.argv[1]), QuarantinePolicy(crashes=3, window_seconds=100, most_keys=4)).handling("a/b \u00e9"):
    print("holding", flush=True)
    time.sleep(60)
"""


def test_a_process_that_is_killed_leaves_the_key_that_it_had_recorded(tmp_path: Path) -> None:
    process = subprocess.Popen([sys.executable, "-c", HOLDING, str(tmp_path)], stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"holding\n"
    process.kill()
    process.communicate()
    assert Journal(tmp_path, POLICY).died_on == "a/b é"


def test_crashes_are_forgotten_after_the_window(tmp_path: Path) -> None:
    clock = Clock()
    for _ in range(3):
        die_on(tmp_path, "bad", clock)
    journal = Journal(tmp_path, POLICY, clock)
    assert journal.is_quarantined("bad")
    clock.now += 101
    assert not journal.is_quarantined("bad")


def test_a_damaged_file_is_set_aside(tmp_path: Path) -> None:
    die_on(tmp_path, "bad", Clock())
    Journal(tmp_path, POLICY, Clock())
    content = (tmp_path / "crashes").read_bytes()
    (tmp_path / "crashes").write_bytes(content.replace(b"1000", b"1001"))
    journal = Journal(tmp_path, POLICY, Clock())
    assert journal.crashes_on("bad") == 0
    assert journal.damaged == str(tmp_path / "crashes.damaged")
    assert (tmp_path / "crashes.damaged").exists()


@given(st.binary(max_size=600), st.binary(max_size=300))
def test_an_actor_starts_with_any_content_of_the_files(
    tmp_path_factory: pytest.TempPathFactory, current: bytes, crashes: bytes
) -> None:
    directory = tmp_path_factory.mktemp("journal")
    (directory / "current").write_bytes(current)
    (directory / "crashes").write_bytes(crashes)
    journal = Journal(directory, POLICY, Clock())
    with journal.handling("x"):
        pass
    journal.close()


@given(st.text())
def test_any_key_can_be_recorded_and_is_found_again(tmp_path_factory: pytest.TempPathFactory, key: str) -> None:
    directory = tmp_path_factory.mktemp("journal")
    die_on(directory, key * 50, Clock())
    assert Journal(directory, POLICY, Clock()).crashes_on(key * 50) == 1


@given(st.lists(st.tuples(st.sampled_from("abcdefg"), st.floats(0, 60)), max_size=60))
def test_the_record_is_bounded_and_a_key_is_quarantined_after_exactly_three_crashes_in_the_window(
    schedule: list[tuple[str, float]],
) -> None:
    crashes, now = Crashes(), 1000.0
    history: dict[str, list[float]] = {}
    policy = QuarantinePolicy(crashes=3, window_seconds=100, most_keys=100)
    small = Crashes()
    for key, gap in schedule:
        now += gap
        crashes = crashes.add(key, now, policy)
        small = small.add(key, now, POLICY)
        history.setdefault(key, []).append(now)
        expected = {k for k, times in history.items() if sum(now - t <= 100 for t in times) >= 3}
        assert {k for k in history if crashes.count(k, now, policy) >= policy.crashes} == expected
        assert len(small.times) <= 4


def test_the_key_of_a_task_is_recorded_as_it_is_at_the_beginning_of_each_step(tmp_path):
    journal, keys = Journal(tmp_path), ["pod-1/a", "pod-1/b"]
    record = journal.record_of(lambda: keys.pop(0))
    record.start()
    record.end()
    record.start()
    assert Journal(tmp_path).died_on == "pod-1/b"


def test_a_step_continues_if_its_key_cannot_be_written(tmp_path):
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    record = TaskRecord(lambda: "pod-1", full, full)
    record.start()
    record.end()


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, lambda path: os.symlink("/dev/zero", path)])
def test_anything_else_at_the_records_path_is_set_aside(tmp_path: Path, make: Callable[[Path], None]) -> None:
    make(tmp_path / "current")
    die_on(tmp_path, "pod-1", Clock())
    assert Journal(tmp_path, POLICY, Clock()).died_on == "pod-1"
    assert os.path.lexists(tmp_path / "current.damaged")


@pytest.mark.parametrize("damage", ["shorter", "other", "longer", "head only"])
def test_a_record_that_was_written_in_part_blames_nothing(tmp_path: Path, damage: str) -> None:
    """The machine went down meanwhile."""
    die_on(tmp_path, "innocent", Clock())
    current = tmp_path / "current"
    whole = current.read_bytes()
    parts = {"shorter": whole[:-1], "other": whole[:-1] + b"x", "longer": b"\x00\x00\x00\x09" + whole[4:]}
    current.write_bytes(parts.get(damage, whole[:8]))
    journal = Journal(tmp_path, POLICY, Clock())
    assert (journal.died_on, journal.crashes_on("innocent"), journal.bounds_death) == ("", 0, False)


def test_the_directory_and_the_record_are_private(tmp_path: Path) -> None:
    Journal(tmp_path / "run" / "quarantine", POLICY, Clock())
    assert (tmp_path / "run" / "quarantine").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "run" / "quarantine" / "current").stat().st_mode & 0o777 == 0o600
