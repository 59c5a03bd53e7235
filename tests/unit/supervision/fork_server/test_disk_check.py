"""Whether a disk hangs: which results of the disposable process say so."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from supervision import hanging_disks
from supervision.fork_server.disk_check import DiskCheck
from supervision.hanging_disks import HANGS
from supervision.process_messages import DisposableResult, RunDisposable


@pytest.mark.parametrize(
    ("result", "error"),
    [
        (DisposableResult(), ""),
        (DisposableResult(kind="OSError", errno=30), ""),
        (DisposableResult(kind="BlockingIOError", errno=11), ""),
        (DisposableResult(timed_out=True), HANGS),
        (DisposableResult(kind="Refused", text="24 disposable processes hang already"), HANGS),
        (DisposableResult(kind="Died"), HANGS),
    ],
)
def test_a_disk_hangs_when_its_check_does_not_end(result: DisposableResult, error: str) -> None:
    asked: list[RunDisposable] = []

    def run(_owner: str, order: RunDisposable, answer: Callable[[DisposableResult], None]) -> None:
        asked.append(order)
        answer(result)

    answers: list[str] = []
    DiskCheck(run, "/disk/incidents.jsonl")(answers.append)
    assert answers == [error]
    assert msgspec.msgpack.decode(asked[0].arguments) == {"path": "/disk/incidents.jsonl"}


def test_the_check_changes_no_file_and_makes_no_directory(tmp_path: Path) -> None:
    hanging_disks.touch(str(tmp_path / "state" / "incidents.jsonl"))
    assert list(tmp_path.iterdir()) == []
