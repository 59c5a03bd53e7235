"""The heartbeat of programs: what a probe says, and since when nothing was answered."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest

from supervision.fork_server.loop import Loop
from supervision.fork_server.probes import ProgramProbes, ProgramSilence, answer_of
from supervision.fork_server.process_entry import ProcessEntry
from supervision.fork_server.process_table import ProcessTable
from supervision.process_messages import Cause, DisposableResult
from supervision.spec import ChildSpec, Policy, ProgramAnswer, ProgramProbe

ANSWERS, SILENT, NOT_SERVING = ProgramAnswer(True), ProgramAnswer(False), ProgramAnswer(True, "no CRI")


def returned(value: object) -> DisposableResult:
    return DisposableResult(msgspec.msgpack.encode(value))


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        (returned(ANSWERS), ANSWERS),
        (returned(SILENT), SILENT),
        (returned(NOT_SERVING), NOT_SERVING),
        (DisposableResult(timed_out=True), SILENT),
        (DisposableResult(kind="Refused", text="too many processes hang already"), None),
        (DisposableResult(kind="OSError", text="no processes"), None),
        (returned(7), None),
        (DisposableResult(b""), None),
    ],
)
def test_only_a_probe_that_ran_counts(result: DisposableResult, expected: ProgramAnswer | None) -> None:
    assert answer_of(result) == expected


def test_silence_counts_from_the_first_probe_that_was_not_answered() -> None:
    silence = ProgramSilence()
    silence.probed(1.0, ANSWERS)
    assert silence.seconds(5.0) == 0.0
    silence.probed(6.0, SILENT)
    silence.probed(9.0, NOT_SERVING)
    assert silence.seconds(10.0) == 4.0
    assert silence.why == "no CRI"
    silence.probed(11.0, ANSWERS)
    assert silence.why == ""
    assert silence.seconds(12.0) == 0.0


@pytest.mark.parametrize(
    ("answer", "expected"), [(SILENT, ("hang", "no answer to m:f")), (NOT_SERVING, ("not_serving", "no CRI"))]
)
def test_a_program_that_does_not_answer_is_hung_and_one_that_lacks_its_service_is_named_so(
    answer: ProgramAnswer, expected: tuple[str, str]
) -> None:
    probe = ProgramProbe(function="m:f", interval_seconds=0.01)
    table = ProcessTable(ChildSpec(name="root", children=(ChildSpec(name="p", program=("p",), probe=probe),)), {})
    child = table.get("p")
    assert child is not None
    child.state, child.incarnation, child.policy = "running", 1, Policy(heartbeat_seconds=0.5)
    loop, ended = Loop(), []

    def end(child: ProcessEntry, cause: Cause, text: str) -> None:
        ended.append((cause, text.partition(" for ")[0]))
        loop.stop()

    probes = (lambda owner, order, take: take(returned(answer)), lambda child, text: end(child, "hang", text), end)
    ProgramProbes(loop, table, *probes)
    loop.call_later(10.0, loop.stop)
    loop.run()
    assert ended == [expected]


@pytest.mark.slow
@pytest.mark.parametrize("change", ["ended", "is being stopped", "is never to count as hung"])
def test_a_program_that_left_service_during_its_probe_is_not_killed(change: str) -> None:
    probe = ProgramProbe(function="m:f", interval_seconds=0.01)
    table = ProcessTable(ChildSpec(name="root", children=(ChildSpec(name="p", program=("p",), probe=probe),)), {})
    child = table.get("p")
    assert child is not None
    child.state, child.incarnation, child.policy = "running", 1, Policy(heartbeat_seconds=2.5)
    loop, hung = Loop(), []
    silent = returned(SILENT)
    probes = 0

    def run(owner: str, order: object, answer: Callable[[DisposableResult], None]) -> None:
        nonlocal probes
        probes += 1
        if probes < 3:
            loop.call_later(0.4, lambda: answer(silent))
            return
        if change == "ended":
            child.state = "down"
        elif change == "is being stopped":
            child.terminating("stopped", 0.0)
        else:
            child.policy = Policy(heartbeat_seconds=0)
        answer(silent)
        loop.stop()

    ProgramProbes(loop, table, run, lambda child, text: hung.append(text), lambda *_: None)
    loop.call_later(10.0, loop.stop)
    loop.run()
    assert (probes, hung) == (3, [])


def test_one_probe_alone_that_waited_for_long_is_no_hang() -> None:
    probe = ProgramProbe(function="m:f", interval_seconds=0.01)
    table = ProcessTable(ChildSpec(name="root", children=(ChildSpec(name="p", program=("p",), probe=probe),)), {})
    child = table.get("p")
    assert child is not None
    child.state, child.incarnation, child.policy = "running", 1, Policy(heartbeat_seconds=0.1)
    loop, hung = Loop(), []

    def run(owner: str, order: object, answer: Callable[[DisposableResult], None]) -> None:
        def late() -> None:
            answer(DisposableResult(timed_out=True))
            loop.stop()

        loop.call_later(0.3, late)

    ProgramProbes(loop, table, run, lambda child, text: hung.append(text), lambda *_: None)
    loop.run()
    assert hung == []
